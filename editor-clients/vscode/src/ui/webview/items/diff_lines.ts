// Two texts as lines that stayed, went and came. Pure.

export interface Line {
  readonly sign: ' ' | '+' | '-';
  readonly text: string;
}

const MOST_CELLS = 250_000;

/** Returns the lines of both texts in order; very long differences are one block that goes and one that comes. */
export function diffLines(before: string | null, after: string): Line[] {
  const [old, now] = [before === null ? [] : split(before), split(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1;
  const middle = between(old.slice(head, old.length - tail), now.slice(head, now.length - tail));
  const same = (text: string): Line => ({ sign: ' ', text });
  return [...old.slice(0, head).map(same), ...middle, ...old.slice(old.length - tail).map(same)];
}

function split(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function between(old: string[], now: string[]): Line[] {
  const gone = (text: string): Line => ({ sign: '-', text });
  const come = (text: string): Line => ({ sign: '+', text });
  if (old.length * now.length > MOST_CELLS) return [...old.map(gone), ...now.map(come)];
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      common[at] = old[i] === now[j] ? common[at + width + 1]! + 1 : Math.max(common[at + width]!, common[at + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i]! });
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!)) {
      lines.push(gone(old[i]!));
      i += 1;
    } else {
      lines.push(come(now[j]!));
      j += 1;
    }
  }
  return lines;
}

/** Returns the lines that are worth showing: changes with so many lines around them; null stands for what is left out. */
export function hunks(lines: readonly Line[], around = 2): (Line | null)[] {
  const near = lines.map((_, at) => lines.slice(Math.max(0, at - around), at + around + 1).some((line) => line.sign !== ' '));
  const shown: (Line | null)[] = [];
  lines.forEach((line, at) => {
    if (near[at]) shown.push(line);
    else if (shown.at(-1) !== null && shown.length > 0) shown.push(null);
  });
  while (shown.at(-1) === null) shown.pop();
  return shown;
}
