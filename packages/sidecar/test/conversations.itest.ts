import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';

import { FrameDecoder } from '@spock/protocol';
import { type RunningProcess, startSidecar, type TempSocket, tempSocket } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Step {
	readonly '>'?: string;
	readonly '>base64'?: string;
	readonly '>repeat'?: readonly [text: string, count: number];
	readonly '<'?: unknown;
	readonly end?: true;
	readonly closed?: true;
}

const conversations = readFileSync(new URL('../../protocol/vectors/conversations.ndjson', import.meta.url), 'utf8')
	.split('\n')
	.filter((line) => line !== '')
	.map((line) => JSON.parse(line) as { rule: string; token?: string; steps: Step[] });

/** A raw connection whose frames are read one by one; `undefined` is the end. */
class RawConnection {
	readonly socket: Socket;
	readonly #frames: (unknown | undefined)[] = [];
	#wake: (() => void) | undefined;

	constructor(path: string) {
		this.socket = createConnection({ path, allowHalfOpen: true });
		const decoder = new FrameDecoder({
			frame: (text) => this.#tell(JSON.parse(text)),
			fault: (code) => this.#tell({ fault: code }),
		});
		this.socket.on('data', (chunk) => decoder.push(chunk));
		this.socket.on('end', () => this.#tell(undefined));
		// A sidecar that closes on us while we still write: the frames it sent before are what counts.
		this.socket.on('error', () => this.#tell(undefined));
	}

	async next(): Promise<unknown> {
		while (this.#frames.length === 0) {
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
		return this.#frames.shift();
	}

	#tell(frame: unknown): void {
		this.#frames.push(frame);
		this.#wake?.();
	}
}

/** "*" matches anything; everything else must be there, and more may be. */
function withWildcards(expected: unknown): unknown {
	if (expected === '*') return expect.toSatisfy(() => true);
	if (Array.isArray(expected)) return expected.map(withWildcards);
	if (typeof expected !== 'object' || expected === null) return expected;
	return expect.objectContaining(
		Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, withWildcards(value)])),
	);
}

function bytesOf(step: Step): Buffer | undefined {
	if (step['>'] !== undefined) return Buffer.from(step['>']);
	if (step['>base64'] !== undefined) return Buffer.from(step['>base64'], 'base64');
	if (step['>repeat'] !== undefined) return Buffer.from(step['>repeat'][0].repeat(step['>repeat'][1]));
	return undefined;
}

describe('vectors: conversations with a real sidecar', () => {
	let place: TempSocket;
	let sidecar: RunningProcess;
	let guardedPlace: TempSocket;
	let guarded: RunningProcess;

	beforeAll(async () => {
		place = await tempSocket();
		const services = join(place.directory, 'services.json');
		const barista = [{ host: '1.2.3.4', port: 8765 }];
		const keys = { 'app/limits': '{"max":5}', 'app/greeting': 'höflich' };
		writeFileSync(services, JSON.stringify({ services: { barista }, keys }));
		sidecar = await startSidecar(place.path, ['--backend', 'local', '--services', services]);
		// The same services, for the conversations that say which token is wanted.
		guardedPlace = await tempSocket();
		const token = conversations.find((conversation) => conversation.token !== undefined)?.token ?? '';
		guarded = await startSidecar(
			guardedPlace.path,
			['--backend', 'local', '--services', services, '--token-on-socket'],
			{ env: { SPOCK_TOKEN: token } },
		);
	});

	afterAll(async () => {
		await sidecar?.[Symbol.asyncDispose]();
		await guarded?.[Symbol.asyncDispose]();
		await guardedPlace?.[Symbol.asyncDispose]();
		await place?.[Symbol.asyncDispose]();
	});

	it('there are conversations', () => expect(conversations.length).toBeGreaterThan(20));

	for (const { rule, token, steps } of conversations) {
		it(rule, async () => {
			const connection = new RawConnection((token === undefined ? place : guardedPlace).path);
			await once(connection.socket, 'connect');
			try {
				for (const step of steps) {
					const bytes = bytesOf(step);
					if (bytes !== undefined) connection.socket.write(bytes);
					else if (step.end) connection.socket.end();
					else if (step.closed) expect(await connection.next()).toBeUndefined();
					else expect(await connection.next()).toEqual(withWildcards(step['<']));
				}
			} finally {
				connection.socket.destroy();
			}
		});
	}
});
