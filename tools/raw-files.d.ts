import type { Plugin } from 'esbuild';

/** Files that are imported as text, by `?raw`. */
export const rawFiles: Plugin;
