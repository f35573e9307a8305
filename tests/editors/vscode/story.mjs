// What a person does with the extension, from the first run on, each step with what has to be seen.
import { readFileSync, symlinkSync } from 'node:fs';
import { servers, until, Window } from './window.mjs';
import { measure } from './figures.mjs';

const given = JSON.parse(process.argv[2]);
const told = { steps: [], figures: {} };
let window;
let frame;

const chat = (selector) => frame.locator(selector);
const text = async (selector) => (await chat(selector).allInnerTexts()).join('\n');
const count = (selector) => chat(selector).count();

async function theme(name) {
  await window.page.keyboard.press('Control+k');
  await window.page.keyboard.press('Control+t');
  const input = window.page.locator('.quick-input-widget input');
  await input.waitFor();
  await window.page.waitForTimeout(500);
  await input.fill(name);
  await window.page.waitForTimeout(800);
  await window.page.keyboard.press('Enter');
  await window.page.waitForTimeout(800);
}

async function send(words) {
  await chat('textarea').fill(words);
  await chat('textarea').press('Enter');
}

const idle = () => until('the end of the turn', async () => (await count('.working:not([hidden])')) === 0);

async function step(name, act) {
  const began = Date.now();
  try {
    await act();
    told.steps.push({ name, ok: true, ms: Date.now() - began });
    process.stderr.write(`${String(Date.now() - began).padStart(7)} ms  ${name}\n`);
  } catch (error) {
    told.steps.push({ name, ok: false, ms: Date.now() - began, why: String(error.stack ?? error).slice(0, 600) });
    await window?.page.screenshot({ path: `${given.root}/failed.png` }).catch(() => undefined);
    throw error;
  }
}

async function firstRun() {
  await step('the walkthrough opens on the first run', () =>
    window.page.getByText('Get started with acp-server').first().waitFor({ timeout: 180_000 }),
  );
  await step('a missing server is told, with what to do', async () => {
    frame = await window.chat();
    await chat('.card h2').filter({ hasText: 'not installed' }).waitFor({ timeout: 180_000 });
    await until('buttons', async () => (await text('.card-buttons')).includes('Install…'));
    await window.picture('missing');
  });
  await step('once it is named the server is found and a chat is open', async () => {
    symlinkSync(given.command, `${given.root}/home/.local/bin/acp-server-of-the-story`);
    await chat('.card-buttons button').filter({ hasText: 'Look again' }).click();
    await chat('.picker-mode').waitFor({ timeout: 180_000 });
    await until('the welcome', async () => (await text('.welcome h1')).includes('What should we work on?'));
    await window.picture('welcome');
  });
}

async function turn() {
  await step('a prompt is answered by a stream that grows', async () => {
    await window.openFile('src/invoice.py');
    await send('The total of an invoice is wrong when an amount is above one. Find out why and fix it.');
    const lengths = new Set();
    await until('four lengths of the answer', async () => {
      lengths.add((await text('.answer')).length);
      return lengths.size >= 4;
    });
  });
  await step('the thought can be unfolded and folded', async () => {
    const head = chat('.thought-head').first();
    await until('the folded thought', async () => (await head.innerText()).startsWith('Thought'));
    if ((await head.getAttribute('aria-expanded')) === 'true') await head.click();
    await head.click();
    await until('its words', async () => (await text('.thought-body')).includes('adds prices'));
    await head.click();
  });
  await step('code is coloured', () => until('colours', async () => (await count('.answer .hljs-keyword')) > 0));
  await step('the card of the edit asks, with its diff', async () => {
    await until('the question', async () => (await count('.tool.asking .ask-buttons button')) >= 2);
    await until('the lines', async () => (await text('.tool.asking .diff-line.came')).includes('line.amount * line.price'));
  });
  await step('the diff opens in the view of the editor', async () => {
    await chat('.tool.asking .diff-open').click();
    await window.page.locator('.monaco-diff-editor').first().waitFor({ timeout: 180_000 });
    const lines = window.page.locator('.monaco-diff-editor .view-line');
    const sides = async () => (await lines.allInnerTexts()).join('\n').replaceAll('\u00a0', ' ');
    await until('both sides', async () => (await sides()).includes('line.amount * line.price'));
    await window.picture('permission-dark');
  });
  await step('it is answered by a key', async () => {
    await chat('textarea').focus();
    await window.page.keyboard.press('Alt+1');
    await until('the file', () => readFileSync(`${given.project}/src/invoice.py`, 'utf8').includes('line.amount * line.price'));
  });
  await step('the command asks too, and shows what it prints', async () => {
    await until('the question', async () => (await text('.tool.asking .tool-title')).includes('compileall'));
    await chat('.tool.asking .button.primary').click();
    await until('its output', async () => (await chat('.terminal').allTextContents()).join('').includes('total ok'));
  });
  await step('the turn ends with a table and a meter', async () => {
    await idle();
    await until('the table', async () => (await count('.answer table')) === 1);
    await until('the meter', async () => (await chat('.meter').getAttribute('aria-valuetext'))?.includes('tokens'));
    await window.picture('answer-dark-narrow');
  });
}

async function choices() {
  await step('commands complete behind a slash', async () => {
    await chat('textarea').fill('/');
    await until('rows', async () => (await text('.popup-label')).includes('/undo'));
    await window.page.keyboard.press('Escape');
    await chat('textarea').fill('');
  });
  await step('files complete behind an at sign and go with the prompt', async () => {
    await chat('textarea').focus();
    await window.page.keyboard.type('Explain @tax');
    await until('rows', async () => (await text('.popup-row')).includes('src/tax.py'));
    await window.picture('mention');
    await window.page.keyboard.press('Enter');
    await until('the chip', async () => (await text('.attachments')).includes('tax.py'));
    await window.page.keyboard.press('Enter');
    await idle();
    await until('the chip of the message', async () => (await text('.user .chip')).includes('tax.py'));
  });
  await step('a picture is pasted and sent', async () => {
    await chat('textarea').fill('Explain this picture');
    await frame.evaluate(async () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 240, height: 100 });
      const pen = canvas.getContext('2d');
      [38, 62, 45, 80, 71].forEach((height, at) => {
        pen.fillStyle = at === 3 ? '#d08a3c' : '#4a7fb5';
        pen.fillRect(20 + at * 42, 90 - height, 30, height);
      });
      const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
      const data = new DataTransfer();
      data.items.add(new File([blob], 'chart.png', { type: 'image/png' }));
      document.querySelector('textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
    });
    await until('the picture', async () => (await count('.attachments img')) === 1);
    await chat('textarea').press('Enter');
    await until('the message', async () => (await count('.user .picture')) === 1);
    await idle();
  });
  await step('the mode is chosen from a list', async () => {
    await chat('.picker-mode').click();
    await until('the list', async () => (await text('.popup')).includes('Plan'));
    await window.picture('modes');
    await chat('.popup-row').filter({ hasText: 'Auto' }).first().click();
    await until('the choice', async () => (await text('.picker-mode')).includes('Auto'));
  });
}

async function keyboard() {
  const focused = () => frame.evaluate(() => document.activeElement.getAttribute('aria-label') ?? '');
  await step('the keyboard reaches the choices in their order, opens a list and leaves it', async () => {
    await chat('textarea').focus();
    const seen = [];
    for (let presses = 0; presses < 5; presses += 1) {
      await window.page.keyboard.press('Tab');
      seen.push((await focused()).split(':')[0]);
    }
    const wanted = ['Add a file or the selection', 'Mode', 'Model', 'Reasoning effort', 'More choices'];
    if (seen.join() !== wanted.join()) throw new Error(`the focus went ${seen.join()}`);
    await window.page.keyboard.press('Enter');
    await until('the list', async () => (await count('.popup:not([hidden]) .popup-row.marked')) === 1);
    await window.page.keyboard.press('Escape');
    await until('no list', async () => (await count('.popup:not([hidden])')) === 0);
  });
  await step('a screen reader is told the answer, and the parts have roles', async () => {
    await until('the words', async () => (await chat('[aria-live=polite]').textContent()).includes('Two modules'));
    const roles = await frame.evaluate(() =>
      ['log', 'toolbar', 'combobox', 'meter'].filter((role) => document.querySelector(`[role=${role}]`)),
    );
    if (roles.length !== 4) throw new Error(`only ${roles.join()}`);
    const nameless = await frame.evaluate(
      () => [...document.querySelectorAll('button')].filter((one) => !one.textContent.trim() && !one.getAttribute('aria-label')).length,
    );
    if (nameless > 0) throw new Error(`${nameless} buttons without a name`);
  });
}

async function queueAndStop() {
  await step('a plan is shown; what is sent meanwhile waits; stop keeps it', async () => {
    await send('Make a plan for the tax and begin.');
    await until('the plan', async () => (await text('.plan-count')).includes('1/3'));
    await send('Explain the two modules.');
    await until('the queue', async () => (await text('.queued-text')).includes('two modules'));
    await chat('.plan-head').click();
    await window.picture('plan-queue');
    await chat('.plan-head').click();
    await chat('.send').click();
    await until('stopped', async () => (await text('.notice')).includes('Stopped.'));
    await idle();
    await chat('.queued button').first().click();
    await until('sent', async () => (await count('.queued')) === 0);
    await idle();
  });
}

async function conversations() {
  await step('a second chat runs beside the first', async () => {
    await send('Now tell a long story.');
    await until('it runs', async () => (await count('.working:not([hidden])')) === 1);
    await window.command('acp-server: New Chat');
    await until('two tabs', async () => (await count('.tab')) === 2);
    await send('Explain this project.');
    await until('an answer', async () => (await text('.answer')).includes('adds up lines'));
    await until('the other one runs on', async () => (await count('.tab-mark.running')) >= 1);
    await window.picture('two-chats');
    await chat('.tab-show').first().click();
    await until('the story', async () => (await text('.answer')).includes('told slowly'));
    await chat('textarea').press('Escape');
    await idle();
  });
  await step('the list of chats has them, and searches', async () => {
    await window.command('acp-server: Chats of This Folder');
    await until('rows', async () => (await count('.session')) >= 3);
    await window.picture('sessions');
    await chat('.session-head input').fill('many');
    await until('one row', async () => (await count('.session')) === 1);
  });
  await step('a chat of five hundred messages opens at its end', async () => {
    const began = Date.now();
    await chat('.session-open').click();
    await until('its end', async () => (await text('.answer >> nth=-1')).includes('Answer 249'));
    told.figures.openLongThreadMs = Date.now() - began;
    await until('all of it', async () => (await count('.user')) === 250);
    told.figures.allOfLongThreadMs = Date.now() - began;
  });
  await step('a chat is renamed, copied and deleted', async () => {
    await window.command('acp-server: Chats of This Folder');
    await until('rows', async () => (await count('.session')) >= 3);
    const row = () => chat('.session').filter({ hasText: 'Many messages' }).first();
    await row().hover();
    await row().getByRole('button', { name: /^Rename/ }).click();
    const input = window.page.locator('.quick-input-widget input[type="text"]').first();
    await until('the box with the name', async () => (await input.inputValue()).includes('Many messages'));
    await input.fill('Renamed chat');
    await input.press('Enter');
    await until('the name', async () => (await text('.session-title')).includes('Renamed chat'));
    const renamed = () => chat('.session').filter({ hasText: 'Renamed chat' }).first();
    await renamed().hover();
    await renamed().getByRole('button', { name: /copy/ }).click();
    const listed = () => chat('.session').first().isVisible();
    await until('the copy', async () => !(await listed()) && (await text('.answer >> nth=-1')).includes('Answer 249'));
    await window.command('acp-server: Chats of This Folder');
    await until('both', async () => (await chat('.session').filter({ hasText: 'Renamed chat' }).count()) === 2);
    await renamed().hover();
    await renamed().getByRole('button', { name: /^Delete/ }).click();
    await window.page.locator('.monaco-dialog-box').getByRole('button', { name: 'Delete' }).click();
    await until('one', async () => (await chat('.session').filter({ hasText: 'Renamed chat' }).count()) === 1);
    await chat('.session-head .icon-button').click();
  });
}

async function faults() {
  await step('the killed server comes back and the chat with it', async () => {
    await chat('.tab-show').first().click();
    await until('the first chat', async () => (await text('.user')).includes('total of an invoice'));
    const [pid] = servers(given.state);
    process.kill(pid, 'SIGKILL');
    await until('another process', () => servers(given.state).find((other) => other !== pid));
    await until('the chat', async () => (await text('.user')).includes('total of an invoice') && (await count('.chat.loading')) === 0);
    await send('Explain again.');
    await until('an answer', async () => (await text('.answer >> nth=-1')).includes('adds up lines'));
    await idle();
  });
  await step('after a reload of the window the chats are there again', async () => {
    await window.reload();
    frame = await window.chat();
    await until('the chat', async () => (await text('.user')).includes('total of an invoice'));
    await until('its diff', async () => (await count('.diff-line.came')) > 0);
    await until('ready', async () => (await count('.picker-mode')) === 1);
  });
}

async function editorActions() {
  await step('the selection is explained from the editor', async () => {
    await window.openFile('src/tax.py');
    await window.page.locator('.monaco-editor .view-lines').first().click();
    await window.page.keyboard.press('Control+a');
    await window.command('acp-server: Explain');
    await until('the prompt', async () => (await text('.user >> nth=-1')).includes('Explain tax.py:1-5'));
    await until('the answer', async () => (await text('.answer >> nth=-1')).includes('adds up lines'));
    await idle();
  });
  await step('what is unsaved counts', async () => {
    await window.page.locator('.monaco-editor .view-lines').first().click();
    await window.page.keyboard.press('Control+End');
    await window.page.keyboard.type('UNSAVED = 1');
    await send('Say what is unsaved in the tax module.');
    await until('the answer', async () => (await text('.answer >> nth=-1')).includes('not saved'));
    await idle();
    const card = chat('.tool').last();
    if ((await card.locator('.tool-head').getAttribute('aria-expanded')) === 'false') await card.locator('.tool-head').click();
    await until('the line', async () => (await card.innerText()).includes('UNSAVED = 1'));
  });
  await step('a problem is handed over from the editor', async () => {
    await window.openFile('data/rates.json');
    await until('the problem', async () => (await window.page.locator('.squiggly-error').count()) > 0);
    await window.page.keyboard.press('F8');
    await window.page.keyboard.press('Escape');
    await window.command('acp-server: Fix the Problem');
    await until('the prompt', async () => (await text('.user >> nth=-1')).includes('Fix this problem at line 1'));
    await until('the answer', async () => (await text('.answer >> nth=-1')).includes('comma'));
    await idle();
  });
  await step('a message is gone back to, files included', async () => {
    await chat('.user').first().hover();
    await chat('.user').first().getByRole('button', { name: /Go back/ }).click();
    const dialog = window.page.locator('.monaco-dialog-box');
    await dialog.waitFor();
    await until('the file', async () => (await dialog.innerText()).includes('src/invoice.py'));
    await dialog.getByRole('button', { name: 'Go back' }).click();
    await until('the file of before', () => !readFileSync(`${given.project}/src/invoice.py`, 'utf8').includes('line.amount * line.price'));
    await until('the words', async () => (await chat('textarea').inputValue()).includes('total of an invoice'));
  });
}

async function looks() {
  if (!given.pictures) return;
  await step('light, wide and high contrast are drawn', async () => {
    await chat('textarea').fill('');
    await window.command('View: Close All Editors');
    await window.page.locator('.part.editor').click();
    await chat('.scroller').evaluate((scroller) => (scroller.scrollTop = scroller.scrollHeight));
    await theme('Light Modern');
    await window.picture('light-narrow');
    await window.width(900);
    await window.picture('light-wide');
    await theme('Dark Modern');
    await window.picture('dark-wide');
    await theme('Dark High Contrast');
    await window.picture('high-contrast');
    await theme('Dark Modern');
    await window.width(350);
  });
}

try {
  window = await Window.open(given);
  await firstRun();
  await turn();
  await choices();
  await keyboard();
  await looks();
  await queueAndStop();
  await conversations();
  Object.assign(told.figures, await measure({ window, frame: () => frame, step, send, idle, until }));
  await faults();
  await editorActions();
} catch (error) {
  told.error = String(error).split('\n')[0];
} finally {
  await window?.close();
}
process.stdout.write(JSON.stringify(told));
