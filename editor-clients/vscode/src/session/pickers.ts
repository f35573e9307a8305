// Config options as pickers, and modes as one where an agent knows nothing else. Pure.
import type { ConfigOption, Opened } from '../rpc/agent.ts';
import type { Choice, Picker } from './items.ts';

/** The picker that stands for the modes of an agent without config options. */
export const MODES = '#modes';

export function pickersOf(options: readonly ConfigOption[]): Picker[] {
  return options.flatMap((option): Picker[] => {
    if (option.type !== 'select') return [];
    return [
      {
        id: option.id,
        name: option.name,
        category: option.category ?? '',
        description: option.description ?? '',
        current: String(option.currentValue),
        choices: choicesOf(option),
      },
    ];
  });
}

function choicesOf(option: Extract<ConfigOption, { type: 'select' }>): Choice[] {
  return option.options.flatMap((entry): Choice[] => {
    if ('value' in entry) return [choice(entry, '')];
    return entry.options.map((inner) => choice(inner, entry.name));
  });
}

function choice(entry: { value: string; name: string; description?: string | null }, group: string): Choice {
  return { value: entry.value, name: entry.name, description: entry.description ?? '', group };
}

/** Returns the pickers of a session that was opened. */
export function pickersOfOpened(opened: Opened): Picker[] {
  const pickers = pickersOf(opened.configOptions);
  if (pickers.some((picker) => picker.category === 'mode') || !opened.modes) return pickers;
  const choices = opened.modes.availableModes.map(({ id, name, description }) =>
    choice({ value: id, name, description: description ?? null }, ''),
  );
  const mode: Picker = {
    id: MODES,
    name: 'Mode',
    category: 'mode',
    description: '',
    current: opened.modes.currentModeId,
    choices,
  };
  return [mode, ...pickers];
}

/** Returns the pickers with another mode chosen. */
export function withMode(pickers: readonly Picker[], modeId: string): Picker[] {
  return pickers.map((picker) => (picker.category === 'mode' ? { ...picker, current: modeId } : picker));
}
