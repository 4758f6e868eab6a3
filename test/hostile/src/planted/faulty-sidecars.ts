import { type Readable, Transform } from 'node:stream';

import { PRODUCT, type Subject } from '../subject.ts';

/** A sidecar whose output lines go through `rewrite`, as latin1: one character for each byte. */
export function sidecarThatSays(rewrite: (line: string, frameBytesMax: number) => string): Partial<Subject> {
	return sidecarWhoseOutput((output, frameBytesMax) => {
		let rest = '';
		const rewritten = new Transform({
			transform: (chunk: Buffer, _, done) => {
				const lines = `${rest}${chunk.toString('latin1')}`.split('\n');
				rest = lines.pop() ?? '';
				done(null, Buffer.from(lines.map((line) => rewrite(`${line}\n`, frameBytesMax)).join(''), 'latin1'));
			},
		});
		// `pipe` passes on the end of the output, but not that it was reset.
		output.once('close', () => rewritten.end());
		return output.pipe(rewritten);
	});
}

/** A sidecar with its output replaced. `frameBytesMax` is the sidecar's own limit. */
export function sidecarWhoseOutput(change: (output: Readable, frameBytesMax: number) => Readable): Partial<Subject> {
	return {
		startSidecar: async (options) => {
			const { connect, stop } = await PRODUCT.startSidecar(options);
			return {
				connect: () => {
					const { input, output } = connect();
					return { input, output: change(output, options.limits?.frameBytesMax ?? Number.POSITIVE_INFINITY) };
				},
				stop,
			};
		},
	};
}
