import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import type { Plugin } from 'esbuild';

import { bundleSources } from '../../bundle-sources.ts';

// The experiment that keeps the choice of newline-delimited JSON honest: the same client and sidecar with length-prefixed
// frames, so that framing alone makes the difference. Figures are in docs/PERFORMANCE.md.

/** How frames are told apart: by line ends, as the product does, or by lengths. */
export type Framing = 'newline' | 'binary';

const { resolve } = createRequire(import.meta.url);
const packages = dirname(dirname(resolve('@spock/protocol/package.json')));
const variants = join(packages, 'bench/src/experiments/framing');

/** Modules of the product that the binary framing has its own of, in this directory. */
const REPLACED: ReadonlyMap<string, string> = new Map([
	['protocol/src/frame-encoder.ts', 'frame-encoder.ts'],
	['protocol/src/frame-decoder.ts', 'frame-decoder.ts'],
	['client/src/read-reply.ts', 'read-reply.ts'],
]);

interface Patch {
	/** Must occur exactly once in the module. */
	readonly from: string;
	readonly to: string;
	/** The function that `to` calls, and the file of this directory that has it. */
	readonly imports: readonly [name: string, file: string];
}

/** Places where the product joins or reads a frame by itself. All else of these modules, tuning included, is the product's. */
const PATCHED: ReadonlyMap<string, Patch> = new Map([
	[
		'protocol/src/node/framed-socket.ts',
		{
			from: "this.#socket.write(text, byteCount === text.length ? 'latin1' : 'utf8')",
			to: 'writeFrames(this.#socket, text, byteCount)',
			imports: ['writeFrames', 'write-frames.ts'],
		},
	],
	[
		'client/src/request-channel.ts',
		{
			from: 'this.#heads.head(id) + call.tail',
			to: 'requestFrame(id, call.tail)',
			imports: ['requestFrame', 'frame-format.ts'],
		},
	],
	[
		'sidecar/src/server/requests.ts',
		{
			from: 'this.#heads.head(id) + encodeReplyTail(payload)',
			to: 'replyFrame(id, encodeReplyTail(payload))',
			imports: ['replyFrame', 'frame-format.ts'],
		},
	],
]);

/**
 * Bundles the product from its sources, with one of the two framings, into a directory: both are built the same way, so
 * that bundling makes no difference between them. Gives the path of a built entry. Needs a checkout. Throws when a module
 * or a place that the binary framing is put into is not there any more.
 *
 * `client`, `server` and `discovery` are the packages; `sidecar` is the command line and `load-client` the load generator.
 */
export async function buildVariant(
	framing: Framing,
	directory: string,
): Promise<(entry: 'client' | 'server' | 'discovery' | 'sidecar' | 'load-client') => string> {
	const replaced = new Set<string>();
	const entry = await bundleSources(
		{
			client: join(packages, 'client/src/index.ts'),
			server: join(packages, 'sidecar/src/index.ts'),
			discovery: join(packages, 'discovery/src/index.ts'),
			sidecar: join(packages, 'sidecar/src/cli/main.ts'),
			'load-client': join(packages, 'bench/src/load/load-client.ts'),
		},
		join(directory, framing),
		framing === 'binary' ? [binaryFraming(replaced)] : [],
	);
	const missed = [...REPLACED.keys(), ...PATCHED.keys()].filter((module) => !replaced.has(module));
	if (framing === 'binary' && missed.length > 0) throw new Error(`the product has no ${missed.join(', ')} any more`);
	return entry;
}

/** `done` collects the modules that were replaced or patched. */
function binaryFraming(done: Set<string>): Plugin {
	return {
		name: 'binary-framing',
		setup({ onLoad }) {
			onLoad({ filter: /\.ts$/ }, ({ path }) => {
				const module = path.slice(packages.length + 1).replaceAll('\\', '/');
				const replacement = REPLACED.get(module);
				const patch = PATCHED.get(module);
				if (replacement === undefined && patch === undefined) return undefined;
				done.add(module);
				const contents =
					replacement === undefined
						? patched(module, readFileSync(path, 'utf8'), patch as Patch)
						: `export * from ${JSON.stringify(join(variants, replacement))};`;
				return { contents, loader: 'ts' };
			});
		},
	};
}

function patched(module: string, source: string, { from, to, imports: [name, file] }: Patch): string {
	const parts = source.split(from);
	if (parts.length !== 2) throw new Error(`${module} has ${parts.length - 1} places like ${from}, not one`);
	return `import { ${name} } from ${JSON.stringify(join(variants, file))};\n${parts.join(to)}`;
}
