import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change } from '../src/session/items.ts';
import { Batch } from '../src/ui/host/batch.ts';
import { diffLines, hunks } from '../src/ui/webview/items/diff_lines.ts';
import { pieces } from '../src/ui/webview/markdown/pieces.ts';

const kinds = (text: string): string[] => pieces(text).map((piece) => `${piece.kind}@${piece.from}`);

test('text is cut at its top-level blocks', () => {
  assert.deepEqual(kinds('One\n\n- a\n- b\n\n```py\nx\n```\n'), ['html@0', 'html@5', 'code@14']);
});

test('a block of code knows its language, its text, and whether its end has come', () => {
  const [open] = pieces('```python title\nx = 1\ny');
  assert.deepEqual(open, { kind: 'code', from: 0, body: 16, language: 'python', code: 'x = 1\ny', fence: '```', open: true });
  const [closed] = pieces('~~~\nx\n~~~');
  assert.equal(closed?.kind === 'code' && closed.open, false);
});

test('what grows long is cut where it is finished', () => {
  const list = Array.from({ length: 30 }, (_, n) => `${n + 1}. item`).join('\n');
  const found = pieces(list);
  assert.deepEqual(found.map((piece) => piece.from), [0, list.indexOf('30.')]);
  assert.match(found[1]?.kind === 'html' ? found[1].html : '', /<ol start="30">/);
  assert.equal(pieces(Array<string>(100).fill('a line').join('\n')).length, 2);
});

test('markup of an answer is shown as text, and pictures are not fetched', () => {
  const html = pieces('<img src=x onerror=alert(1)> [a](javascript:alert(1)) ![p](https://a.example/p.png)')
    .map((piece) => (piece.kind === 'html' ? piece.html : ''))
    .join('');
  assert.doesNotMatch(html, /<img|href="javascript/);
});

test('a difference is told in lines, and what is far from it is left out', () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  const after = before.with(10, 'changed');
  const lines = diffLines(before.join('\n'), after.join('\n'));
  assert.deepEqual(lines.filter((line) => line.sign !== ' '), [{ sign: '-', text: 'line 10' }, { sign: '+', text: 'changed' }]);
  assert.deepEqual(hunks(lines).map((line) => line?.text ?? null), ['line 8', 'line 9', 'line 10', 'changed', 'line 11', 'line 12']);
  assert.deepEqual(diffLines(null, 'a\nb\n'), [{ sign: '+', text: 'a' }, { sign: '+', text: 'b' }]);
});

test('changes go on at once when it was quiet, and joined while much comes', () => {
  const flushed: Change[][] = [];
  const waits: { ms: number; work: () => void }[] = [];
  let now = 1_000;
  const batch = new Batch((changes) => flushed.push(changes), { now: () => now, later: (ms, work) => waits.push({ ms, work }) });
  batch.add({ op: 'put', item: { kind: 'answer', id: 'a', text: 'H', open: true } });
  assert.equal(waits[0]?.ms, 0);
  waits[0]?.work();
  now += 10;
  for (const text of ['e', 'l', 'lo']) batch.add({ op: 'grow', id: 'a', text });
  batch.add({ op: 'meta', meta: { running: false } });
  batch.add({ op: 'meta', meta: { title: 'T' } });
  assert.equal(waits[1]?.ms, 20);
  waits[1]?.work();
  assert.deepEqual(flushed, [
    [{ op: 'put', item: { kind: 'answer', id: 'a', text: 'H', open: true } }],
    [{ op: 'grow', id: 'a', text: 'ello' }, { op: 'meta', meta: { running: false, title: 'T' } }],
  ]);
});
