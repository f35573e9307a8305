// Elements by one function, and the few icons of the page.

type Attributes = Record<string, string | boolean | number | null | ((event: never) => void)>;

/** Makes an element: `on…` are listeners, booleans are attributes that are there or not, null leaves out. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: (Node | string | null)[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const PATHS = {
  send: 'M8 13V3M3.5 7.5 8 3l4.5 4.5',
  stop: 'M4.5 4.5h7v7h-7z',
  close: 'm4 4 8 8m0-8-8 8',
  chevron: 'm6 4 4 4-4 4',
  down: 'm4 6 4 4 4-4',
  check: 'm3.5 8.5 3 3 6-7',
  cross: 'm4.5 4.5 7 7m0-7-7 7',
  read: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3M6 8.5h4m-4 2.5h4',
  edit: 'm3 13 .8-3L10.5 3.2l2.3 2.3L6 12.2z',
  delete: 'M3.5 4.5h9M6.5 4.5V3h3v1.5M5 4.5l.5 8.5h5l.5-8.5',
  move: 'M3 8h9M9 5l3 3-3 3',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5l3 3',
  execute: 'm3 4.5 3.5 3.5L3 11.5M8.5 12H13',
  think: 'M8 2.5v2m0 7v2m5.5-5.5h-2m-7 0h-2m9.4-3.9-1.4 1.4m-5 5-1.4 1.4m7.8 0-1.4-1.4m-5-5L4.1 4.1',
  fetch: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM2.5 8h11M8 2.5c-4 4-4 7 0 11 4-4 4-7 0-11',
  other: 'M8 2.5 13 5v6l-5 2.5L3 11V5zM3 5l5 2.5L13 5M8 7.5v6',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  insert: 'M8 2.5v7M5 7l3 3 3-3M3 13h10',
  attach: 'M8 13.5a5.5 5.5 0 1 1 5.5-5.5c0 2.5-3 2.5-3 .5V5.5M10.5 8A2.5 2.5 0 1 1 8 5.5 2.5 2.5 0 0 1 10.5 8z',
  undo: 'M5.5 3 3 5.5 5.5 8M3 5.5h6a4 4 0 0 1 0 8H6',
  fork: 'M4.5 3v10M4.5 9.5c0-3 6.5-1.5 6.5-5.5M11 4V3',
  rename: 'm3 13 .8-3L10.5 3.2l2.3 2.3L6 12.2zM9 13h4',
  image: 'M2.5 3.5h11v9h-11zM2.5 10.5l3-3 3 3 2-2 3 3',
  plan: 'm2.5 4.5 1 1 2-2m-3 6 1 1 2-2M8 4.5h5.5M8 10h5.5',
  warning: 'M8 2.5 14 13H2zM8 6.5v3m0 1.5v.5',
  info: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM8 7.5v3.5M8 5v.5',
  more: 'M3.5 8h.5m3.750 0h.5m3.750 0h.5',
  back: 'm9.5 3.5-4.5 4.5 4.5 4.5',
  diff: 'M8 3v5M5.5 5.5h5M5.5 12h5',
  spinner: 'M8 2.5a5.5 5.5 0 1 1-5.5 5.5',
} as const;

export type IconName = keyof typeof PATHS;

const parsed = document.createElement('template');

export function icon(name: string, className = ''): SVGElement {
  const path = PATHS[name as IconName] ?? PATHS.other;
  parsed.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${path}"/></svg>`;
  const svg = parsed.content.firstElementChild as SVGElement;
  svg.setAttribute('class', `icon ${className}`);
  return svg;
}

/** Makes a button that shows an icon and says what it does. */
export function iconButton(name: IconName, label: string, onclick: (event: MouseEvent) => void, className = ''): HTMLButtonElement {
  return h('button', { type: 'button', class: `icon-button ${className}`, title: label, 'aria-label': label, onclick }, icon(name));
}
