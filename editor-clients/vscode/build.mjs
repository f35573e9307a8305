// Bundles the extension (one CommonJS file for the extension host) and the page of the chat view (one script, one sheet).
import { build, context } from 'esbuild';

const common = { bundle: true, minify: true, logLevel: 'warning', legalComments: 'none', target: 'es2023' };
const targets = [
  {
    ...common,
    entryPoints: ['src/extension.ts'],
    outfile: 'dist/extension.cjs',
    platform: 'node',
    format: 'cjs',
    external: ['vscode'],
    define: { navigator: 'undefined' },
  },
  {
    ...common,
    entryPoints: { chat: 'src/ui/webview/main.ts', style: 'src/ui/webview/style/index.css' },
    outdir: 'dist',
    platform: 'browser',
    format: 'iife',
  },
];

if (process.argv.includes('--watch')) {
  for (const target of targets) await (await context(target)).watch();
} else {
  await Promise.all(targets.map((target) => build(target)));
}
