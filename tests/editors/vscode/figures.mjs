// Figures of the page: how soon the first text is seen, and how long the page is busy at a stretch.

const ROUNDS = 12;

/** Makes the page note its long tasks, its longest frame, and when text with a moment in it is drawn. */
function watch() {
  const noted = { tasks: [], frame: 0, seen: [] };
  window.noted = noted;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) noted.tasks.push(Math.round(entry.duration));
  }).observe({ entryTypes: ['longtask'] });
  let last = performance.now();
  const tick = () => {
    const now = performance.now();
    noted.frame = Math.max(noted.frame, now - last);
    last = now;
    for (const answer of document.querySelectorAll('.answer:not([data-timed])')) {
      const found = /sent (\d{13}) by/.exec(answer.textContent);
      if (!found) continue;
      answer.setAttribute('data-timed', '');
      noted.seen.push(Date.now() - Number(found[1]));
    }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

const clear = () => Object.assign(window.noted, { tasks: [], frame: 0, seen: [] });
const read = () => window.noted;

export async function measure({ frame, step, send, idle, until }) {
  const figures = {};
  await frame().evaluate(watch);
  await step('the first text is seen soon after the model sent it', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await send(`what time is it, round ${round}?`);
      await until('the time', async () => (await frame().evaluate(read)).seen.length > round);
      await idle();
    }
    const seen = (await frame().evaluate(read)).seen.sort((a, b) => a - b);
    figures.firstTextMs = { median: seen[Math.floor(seen.length / 2)], worst: seen.at(-1) };
  });
  await step('five thousand lines stream without holding up the page', async () => {
    await frame().evaluate(clear);
    await send('Give me five thousand lines of text.');
    await until('the end', async () => (await frame().locator('.answer').last().innerText()).includes('Part 55'), 240_000);
    await idle();
    const { tasks, frame: longest } = await frame().evaluate(read);
    figures.streaming = { longestTaskMs: Math.max(0, ...tasks), longTasks: tasks.length, longestFrameMs: Math.round(longest) };
  });
  await step('a long answer scrolls without holding up the page', async () => {
    await frame().evaluate(clear);
    await frame().evaluate(async () => {
      const scroller = document.querySelector('.scroller');
      for (let top = scroller.scrollHeight; top > 0; top -= 900) {
        scroller.scrollTop = top;
        await new Promise((resolve) => requestAnimationFrame(resolve));
      }
      scroller.scrollTop = scroller.scrollHeight;
    });
    const { tasks, frame: longest } = await frame().evaluate(read);
    figures.scrolling = { longestTaskMs: Math.max(0, ...tasks), longTasks: tasks.length, longestFrameMs: Math.round(longest) };
  });
  return figures;
}
