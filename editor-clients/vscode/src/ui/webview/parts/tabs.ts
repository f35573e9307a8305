// The conversations that are open: which one is shown, which run, which ask.
import type { Tab } from '../../shared/messages.ts';
import { h, icon } from '../dom.ts';
import { post } from '../host.ts';

export class Tabs {
  readonly element = h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Open chats' });

  constructor() {
    this.element.hidden = true;
    this.element.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      const all = [...this.element.querySelectorAll<HTMLElement>('[role=tab]')];
      const at = all.indexOf(document.activeElement as HTMLElement);
      if (by !== 0 && at >= 0) all[(at + by + all.length) % all.length]?.focus();
    });
  }

  show(tabs: readonly Tab[]): void {
    this.element.hidden = tabs.length < 2;
    this.element.replaceChildren(...tabs.map(tabElement));
    this.element.querySelector('.active')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }
}

function tabElement(tab: Tab): HTMLElement {
  const state = tab.asking ? 'asks you' : tab.running ? 'runs' : '';
  const mark = h('span', { class: `tab-mark${tab.asking ? ' asking' : tab.running ? ' running' : ''}` });
  const show = h(
    'button',
    {
      type: 'button',
      class: 'tab-show',
      role: 'tab',
      'aria-selected': String(tab.active),
      'aria-label': `${tab.title}${state ? `, ${state}` : ''}`,
      title: tab.title,
      tabindex: tab.active ? '0' : '-1',
      onclick: () => post({ type: 'show', key: tab.key }),
    },
    state ? mark : null,
    h('span', { class: 'tab-title' }, tab.title),
  );
  const shut = (): void => post({ type: 'close', key: tab.key });
  const close = h('button', { type: 'button', class: 'tab-close', 'aria-label': `Close ${tab.title}`, onclick: shut }, icon('close'));
  return h('div', { class: `tab${tab.active ? ' active' : ''}`, role: 'presentation' }, show, close);
}
