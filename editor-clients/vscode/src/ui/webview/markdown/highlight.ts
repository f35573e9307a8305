// Colours for code: the languages that people mostly talk about, each by its usual names.
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import c from 'highlight.js/lib/languages/c';
import cpp from 'highlight.js/lib/languages/cpp';
import csharp from 'highlight.js/lib/languages/csharp';
import css from 'highlight.js/lib/languages/css';
import diff from 'highlight.js/lib/languages/diff';
import go from 'highlight.js/lib/languages/go';
import ini from 'highlight.js/lib/languages/ini';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import lua from 'highlight.js/lib/languages/lua';
import markdown from 'highlight.js/lib/languages/markdown';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import ruby from 'highlight.js/lib/languages/ruby';
import rust from 'highlight.js/lib/languages/rust';
import sql from 'highlight.js/lib/languages/sql';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';

const LONGEST = 20_000;
const languages = {
  ...{ bash, c, cpp, csharp, css, diff, go, ini, java, javascript, json, kotlin },
  ...{ lua, markdown, php, python, ruby, rust, sql, swift, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

/** Returns code as HTML, coloured where its language is known and it is not very long. */
export function highlight(code: string, language: string): string {
  const name = language.toLowerCase();
  if (code.length > LONGEST || !hljs.getLanguage(name)) return escape(code);
  return hljs.highlight(code, { language: name, ignoreIllegals: true }).value;
}

export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
