// Gathers changes and hands them on a few dozen times a second: at once when it was quiet, joined while much comes.
import type { Change } from '../../session/items.ts';

export interface Clock {
  now(): number;
  later(ms: number, work: () => void): void;
}

const EVERY_MS = 30;

export class Batch {
  private changes: Change[] = [];
  private last = -EVERY_MS;
  private due = false;
  private readonly flushed: (changes: Change[]) => void;
  private readonly clock: Clock;

  constructor(flushed: (changes: Change[]) => void, clock: Clock = CLOCK) {
    this.flushed = flushed;
    this.clock = clock;
  }

  add(change: Change): void {
    join(this.changes, change);
    if (this.due) return;
    this.due = true;
    this.clock.later(Math.max(0, this.last + EVERY_MS - this.clock.now()), () => this.flush());
  }

  /** Hands on what is gathered; with `drop` it is forgotten. */
  flush(drop = false): void {
    this.due = false;
    this.last = this.clock.now();
    const { changes } = this;
    this.changes = [];
    if (changes.length > 0 && !drop) this.flushed(changes);
  }
}

/** Adds a change to a list; text of one item becomes one piece, and an item that is put again is put once. */
function join(changes: Change[], change: Change): void {
  const last = changes.at(-1);
  if (last?.op === 'grow' && change.op === 'grow' && last.id === change.id) {
    changes[changes.length - 1] = { ...last, text: last.text + change.text };
  } else if (last?.op === 'output' && change.op === 'output' && last.id === change.id) {
    changes[changes.length - 1] = { ...last, text: last.text + change.text };
  } else if (last?.op === 'meta' && change.op === 'meta') {
    changes[changes.length - 1] = { op: 'meta', meta: { ...last.meta, ...change.meta } };
  } else if (change.op === 'put') {
    // An item is put by reference: a copy keeps its state at this moment, so that later growth is not told twice.
    const copy: Change = { op: 'put', item: structuredClone(change.item) };
    if (last?.op === 'put' && last.item.id === change.item.id) changes[changes.length - 1] = copy;
    else changes.push(copy);
  } else {
    changes.push(change);
  }
}

const CLOCK: Clock = { now: () => performance.now(), later: (ms, work) => void setTimeout(work, ms) };
