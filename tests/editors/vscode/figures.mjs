// Figures of the page: how soon the first text is seen, and how long the page is busy at a stretch. A task is judged by
// the processor time that it took: on a machine that is shared the clock counts what others did meanwhile.

const ROUNDS = 12;

/** Makes the page note its long tasks, its longest frame, and when text with a moment in it is drawn. */
function watch() {
  const noted = { frame: 0, seen: [] };
  window.noted = noted;
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

const clear = () => Object.assign(window.noted, { frame: 0, seen: [] });
const read = () => window.noted;

/** Runs something while the browser notes what its main threads do; returns the longest task and frame. */
async function busy(window, frame, act) {
  const session = await window.browser.newBrowserCDPSession();
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  const traceConfig = { includedCategories: ['toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline'] };
  await frame().evaluate(clear);
  await session.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig });
  await act();
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await complete;
  const mains = new Set(events.filter((one) => one.name === 'thread_name' && one.args.name === 'CrRendererMain').map(threadOf));
  const tasks = events.filter((one) => one.ph === 'X' && one.name.endsWith('RunTask') && mains.has(threadOf(one)));
  const longest = (of) => Math.round(Math.max(0, ...tasks.map(of)) / 1_000);
  return {
    longestTaskMs: longest((one) => one.tdur ?? one.dur),
    longestTaskByTheClockMs: longest((one) => one.dur),
    longestFrameMs: Math.round((await frame().evaluate(read)).frame),
  };
}

const threadOf = (event) => `${event.pid}:${event.tid}`;

export async function measure({ window, frame, step, send, idle, until }) {
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
    figures.streaming = await busy(window, frame, async () => {
      await send('Give me five thousand lines of text.');
      await until('the end', async () => (await frame().locator('.answer').last().innerText()).includes('Part 55'), 240_000);
      await idle();
    });
  });
  await step('a long answer scrolls without holding up the page', async () => {
    figures.scrolling = await busy(window, frame, () =>
      frame().evaluate(async () => {
        const scroller = document.querySelector('.scroller');
        let top = scroller.scrollHeight;
        for (let frames = 0; frames < 200 && top > 0; frames += 1) {
          scroller.scrollTop = top -= 900;
          await new Promise((resolve) => requestAnimationFrame(resolve));
        }
        scroller.scrollTop = scroller.scrollHeight;
      }),
    );
  });
  return figures;
}
