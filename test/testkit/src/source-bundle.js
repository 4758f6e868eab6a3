// How tests, benches and tools bundle programs with esbuild: from the sources, whatever is built.

/** Options of esbuild's `build`; entries and output are the caller's. */
export const sourceBundle = {
	bundle: true,
	format: 'esm',
	platform: 'node',
	target: 'node20.19',
	conditions: ['@spock/source'],
	logLevel: 'error',
};

/** For a bundle that has CommonJS packages in it: they ask for Node's own modules by `require`. */
export const requireBanner = {
	js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);",
};
