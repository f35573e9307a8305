// The editor's window in Chromium: opened, its chat found, photographed.
import { readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';

const WAIT_MS = 180_000;
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--font-render-hinting=none',
];

/** Waits until the function gives something, and returns it. */
export async function until(what, give, ms = WAIT_MS) {
  const end = Date.now() + ms;
  let last;
  while (Date.now() < end) {
    try {
      const found = await give();
      if (found) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  throw new Error(`waited in vain: ${what}${last ? ` (${String(last).split('\n')[0]})` : ''}`);
}

export class Window {
  static async open({ extension, chromium, url, size, pictures }) {
    const { chromium: driver } = createRequire(`${extension}/`)('playwright-core');
    const browser = await driver.launch({ executablePath: chromium, args: ARGS });
    const context = await browser.newContext({ viewport: size, permissions: ['clipboard-read', 'clipboard-write'] });
    context.setDefaultTimeout(WAIT_MS);
    const window = new Window();
    Object.assign(window, { browser, page: await context.newPage(), url, pictures });
    await window.page.goto(url);
    await window.page.waitForSelector('.monaco-workbench', { timeout: WAIT_MS });
    return window;
  }

  async reload() {
    await this.page.reload();
    await this.page.waitForSelector('.monaco-workbench', { timeout: WAIT_MS });
  }

  /** Opens the chat's view; returns once its page is there. */
  async chat() {
    const { page } = this;
    const tab = page.locator('.activitybar .action-item a[aria-label^="Agent"]').first();
    await tab.waitFor({ timeout: WAIT_MS });
    const shown = async () => {
      for (const frame of page.frames()) {
        const there = await frame.locator('.composer').count().catch(() => 0);
        if (there > 0) return frame;
      }
      return null;
    };
    if (!(await shown())) await tab.click();
    this.frame = await until('the chat', shown);
    return this.frame;
  }

  async command(name) {
    await this.page.keyboard.press('F1');
    const input = this.page.locator('.quick-input-widget input');
    await input.waitFor();
    await input.fill(`>${name}`);
    await this.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    await this.page.waitForTimeout(200);
    await this.page.keyboard.press('Enter');
  }

  async openFile(name) {
    await this.page.keyboard.press('Control+p');
    const input = this.page.locator('.quick-input-widget input');
    await input.waitFor();
    await input.fill(name);
    await this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: name.split('/').at(-1) }).first().waitFor();
    await this.page.waitForTimeout(300);
    await this.page.keyboard.press('Enter');
    await this.page.locator('.tab.active').filter({ hasText: name.split('/').at(-1) }).first().waitFor();
  }

  /** Drags the side bar to a width. */
  async width(pixels) {
    const box = await this.page.locator('.part.sidebar').boundingBox();
    const [from, y] = [box.x + box.width, box.y + 300];
    await this.page.mouse.move(from, y);
    await this.page.mouse.down();
    await this.page.mouse.move(box.x + pixels, y, { steps: 4 });
    await this.page.mouse.up();
    await this.page.waitForTimeout(300);
  }

  async picture(name) {
    if (!this.pictures) return;
    await this.page.mouse.move(4, 4);
    await this.page.waitForTimeout(500);
    await this.page.screenshot({ path: `${this.pictures}/${name}.png` });
  }

  async close() {
    await this.browser.close();
  }
}

/** Returns the ids of the processes of the server that belong to this run: known by their environment. */
export function servers(state) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        const ours = readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`ACP_SERVER_HOME=${state}\0`);
        return ours && command.some((word) => word.includes('/acp-server')) && command.includes('acp');
      } catch {
        return false;
      }
    })
    .map(Number);
}
