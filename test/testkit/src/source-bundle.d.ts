/** Options of esbuild's `build` for a bundle from the sources; entries and output are the caller's. */
export const sourceBundle: {
	bundle: true;
	format: 'esm';
	platform: 'node';
	target: string;
	conditions: string[];
	logLevel: 'error';
};

/** For a bundle that has CommonJS packages in it: they ask for Node's own modules by `require`. */
export const requireBanner: { js: string };
