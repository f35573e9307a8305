// Between the protocol's content blocks and a person's words: what a prompt becomes, what a message shows. Pure.
import { pathToFileURL } from 'node:url';
import type { Block } from '../rpc/agent.ts';
import type { Attachment, Draft, Mention, Picture } from './items.ts';

/** Returns the blocks of a prompt: the words first, so that a slash command stands first, then what goes with them. */
export function promptOf(draft: Draft): Block[] {
  const blocks: Block[] = draft.text ? [{ type: 'text', text: draft.text }] : [];
  for (const mention of draft.mentions) blocks.push(blockOf(mention));
  for (const { mimeType, data } of draft.pictures) blocks.push({ type: 'image', mimeType, data });
  return blocks;
}

function blockOf(mention: Mention): Block {
  const uri = uriOf(mention);
  if (mention.text === null) return { type: 'resource_link', name: mention.label, uri };
  return { type: 'resource', resource: { uri, text: mention.text, mimeType: 'text/plain' } };
}

/** Returns the address of a file, with its lines as a fragment. */
export function uriOf(mention: Pick<Mention, 'path' | 'lines'>): string {
  const uri = pathToFileURL(mention.path).href;
  return mention.lines ? `${uri}#L${mention.lines[0]}-L${mention.lines[1]}` : uri;
}

/** What one block adds to a message. */
export interface Shown {
  readonly text: string;
  readonly picture?: Picture;
  readonly attachment?: Attachment;
}

export function shown(block: Block): Shown {
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'image':
      return { text: '', picture: { mimeType: block.mimeType, data: block.data } };
    case 'resource_link':
      return { text: '', attachment: { label: block.title ?? block.name, uri: block.uri } };
    case 'resource':
      return { text: '', attachment: { label: labelOf(block.resource.uri), uri: block.resource.uri } };
    default:
      return { text: `[${block.type}]` };
  }
}

/** Returns the last part of an address, with its lines in a short form: `app.py:3-9`. */
export function labelOf(uri: string): string {
  const [path = '', fragment = ''] = uri.split('#');
  const name = decoded(path.split('/').filter(Boolean).at(-1) ?? uri);
  const lines = /^L(\d+)(?:-L?(\d+))?$/.exec(fragment);
  if (!lines) return name;
  return lines[2] && lines[2] !== lines[1] ? `${name}:${lines[1]}-${lines[2]}` : `${name}:${lines[1]}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
