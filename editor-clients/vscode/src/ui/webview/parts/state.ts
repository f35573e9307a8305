// What is said while one cannot talk to the agent: that it starts, what is missing, how to sign in; and the welcome.
import type { State } from '../../shared/messages.ts';
import { h, icon } from '../dom.ts';
import { post } from '../host.ts';

type Act = [label: string, run: () => void];
const act = (label: string, action: 'install' | 'settings' | 'restart' | 'log'): Act => [label, () => post({ type: 'act', action })];

/** Returns the card of a state, or null when all is well. */
export function stateElement(state: State): HTMLElement | null {
  switch (state.is) {
    case 'ready':
      return null;
    case 'starting':
      return line('Starting the server…');
    case 'restarting':
      return line(`${state.why} It is being started again.`);
    case 'missing':
      return card(
        'The server is not installed',
        'This chat talks to acp-server, a program on your machine. It was not found here:',
        [h('ul', { class: 'looked' }, ...state.looked.slice(-8).map((place) => h('li', {}, place)))],
        [act('Install…', 'install'), act('Look again', 'restart'), act('Choose a path', 'settings')],
      );
    case 'failed':
      return card('The server does not run', state.why, [], [act('Start again', 'restart'), act('Show the log', 'log'), act('Settings', 'settings')]);
    case 'auth':
      return card(
        'Choose how to reach a model',
        state.why,
        state.methods.map((method) =>
          h(
            'button',
            { type: 'button', class: 'method', onclick: () => post({ type: 'authenticate', method: method.id }) },
            h('span', { class: 'method-name' }, method.name),
            h('span', { class: 'method-words' }, method.description),
          ),
        ),
        [],
      );
  }
}

function line(words: string): HTMLElement {
  return h('div', { class: 'state-line', role: 'status' }, icon('spinner', 'spin'), words);
}

function card(title: string, words: string, parts: HTMLElement[], acts: Act[]): HTMLElement {
  const buttons = acts.map(([label, run], at) => h('button', { type: 'button', class: `button ${at === 0 ? 'primary' : 'secondary'}`, onclick: run }, label));
  const close = h('div', { class: 'card-buttons' }, ...buttons);
  return h('section', { class: 'card', role: 'alert' }, h('h2', {}, title), h('p', {}, words), ...parts, buttons.length > 0 ? close : null);
}

const IDEAS = [
  ['search', 'Explain this project', 'Explain how this project is built, and where I should start reading.'],
  ['edit', 'Change something', ''],
  ['execute', 'Run the tests and fix what fails', 'Run the tests of this project and fix what fails.'],
] as const;

/** Returns what an empty conversation shows. */
export function welcome(begin: (text: string) => void): HTMLElement {
  const ideas = IDEAS.map(([mark, label, text]) => h('button', { type: 'button', class: 'idea', onclick: () => begin(text) }, icon(mark), label));
  return h(
    'div',
    { class: 'welcome' },
    h('div', { class: 'welcome-mark' }, icon('other')),
    h('h1', {}, 'What should we work on?'),
    h('p', {}, 'The agent reads, edits and runs this project, and asks before it changes anything.'),
    h('div', { class: 'ideas' }, ...ideas),
  );
}

