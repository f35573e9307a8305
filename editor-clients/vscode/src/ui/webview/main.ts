// The page: puts its parts together and passes on what the extension says.
import { EMPTY_META, type Change, type Item, type Meta } from '../../session/items.ts';
import type { Can, Looks, State, ToPage } from '../shared/messages.ts';
import { announcers, say } from './announce.ts';
import { h } from './dom.ts';
import { post } from './host.ts';
import { answerByNumber } from './items/ask.ts';
import { Composer } from './parts/composer.ts';
import { Plan } from './parts/plan.ts';
import { Queue } from './parts/queue.ts';
import { Sessions } from './parts/sessions.ts';
import { stateElement, welcome } from './parts/state.ts';
import { Tabs } from './parts/tabs.ts';
import { Transcript } from './transcript.ts';

let can: Can = { images: false, list: false, remove: false, steer: false, rename: false, fork: false, undo: false };
let looks: Looks = { thoughts: 'collapsed', sendWith: 'enter' };
let state: State = { is: 'starting' };
let meta: Meta = { ...EMPTY_META };
let key = '';

const around = { can: () => can, looks: () => looks, meta: () => meta };
const transcript = new Transcript(around);
const composer = new Composer({ ...around, sent: () => transcript.stick() });
const plan = new Plan();
const queue = new Queue();
const tabs = new Tabs();
const sessions = new Sessions(around.can, () => showPage('chat'));
const stateSlot = h('div', { class: 'state' });
const welcomeSlot = h('div', { class: 'welcome-slot' }, welcome((text) => begin(text)));
const working = h('div', { class: 'working', role: 'status' }, h('span', { class: 'dots', 'aria-hidden': 'true' }), 'Working');
const foot = h('footer', { class: 'foot' }, stateSlot, plan.element, queue.element, composer.element);
const chat = h('main', { class: 'chat' }, tabs.element, welcomeSlot, transcript.element, working, foot);
document.getElementById('app')!.append(chat, sessions.element, ...announcers);

function begin(text: string): void {
  composer.put({ id: '', text, pictures: [], mentions: [] });
}

function showPage(page: 'chat' | 'sessions'): void {
  chat.hidden = page !== 'chat';
  if (page === 'sessions') return sessions.open();
  sessions.element.hidden = true;
  composer.input.focus();
}

function showMeta(): void {
  plan.show(meta.plan);
  queue.show(meta.queue, meta.running, can);
  composer.show(meta);
  working.hidden = !meta.running;
  const empty = transcript.empty && !meta.loading;
  welcomeSlot.hidden = !empty || state.is === 'missing' || state.is === 'auth' || state.is === 'failed';
  chat.classList.toggle('loading', meta.loading);
}

function showState(): void {
  const element = stateElement(state);
  stateSlot.replaceChildren(...(element ? [element] : []));
  showMeta();
}

function apply(changes: readonly Change[]): void {
  let newMeta = false;
  for (const change of changes) {
    if (change.op === 'meta') {
      if (change.meta.running === false && meta.running) say(lastAnswer || 'The agent is done.');
      meta = { ...meta, ...change.meta };
      newMeta = true;
      continue;
    }
    transcript.apply(change);
    hear(change);
    if (!welcomeSlot.hidden) newMeta = true;
  }
  if (newMeta) showMeta();
}

let lastAnswer = '';

/** Keeps what is worth saying aloud. */
function hear(change: Change): void {
  if (change.op !== 'put') return;
  const item: Item = change.item;
  if (item.kind === 'answer' && !item.open) lastAnswer = item.text;
  if (item.kind === 'tool' && item.ask) say(`The agent asks: ${item.title}. Alt and a number answers.`, true);
  if (item.kind === 'notice') say(`${item.title} ${item.text}`);
}

function take(message: ToPage): void {
  switch (message.type) {
    case 'state':
      ({ state, can, looks } = message);
      return showState();
    case 'tabs':
      return tabs.show(message.tabs);
    case 'thread':
      ({ key, meta } = message);
      transcript.reset(message.items);
      return showMeta();
    case 'changes':
      if (message.key === key) apply(message.changes);
      return undefined;
    case 'sessions':
      return sessions.show(message.sessions);
    case 'suggestions':
      return composer.suggestions(message.asked, message.rows);
    case 'mention':
      return composer.mention(message.mention);
    case 'draft':
      return composer.put(message.draft);
    case 'page':
      return showPage(message.page);
    case 'focus':
      return composer.input.focus();
  }
}

window.addEventListener('message', (event: MessageEvent<ToPage>) => take(event.data));
document.addEventListener('keydown', (event) => {
  const digit = event.altKey ? /^Digit([1-9])$/.exec(event.code) : null;
  if (digit && answerByNumber(transcript.element, Number(digit[1]))) event.preventDefault();
});
document.addEventListener('click', (event) => {
  const link = (event.target as Element).closest?.('a[href]');
  if (!link) return;
  event.preventDefault();
  post({ type: 'uri', uri: link.getAttribute('href') ?? '' });
});
showState();
post({ type: 'ready' });
