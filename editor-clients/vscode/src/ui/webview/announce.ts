// Words for a screen reader: that an answer is there, that something is asked. The stream itself is not read out.
import { h } from './dom.ts';

const polite = h('div', { class: 'sr', role: 'status', 'aria-live': 'polite' });
const assertive = h('div', { class: 'sr', role: 'alert', 'aria-live': 'assertive' });
const LONGEST = 400;

export const announcers = [polite, assertive];

export function say(words: string, urgent = false): void {
  (urgent ? assertive : polite).textContent = words.slice(0, LONGEST);
}
