import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';

import { FrameDecoder } from '@spock/protocol';
import { type RunningProcess, startSidecar, type TempSocket, tempSocket } from '@spock/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

interface Step {
	/** The connection; without it the first one. */
	readonly on?: string;
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
	.map(
		(line) =>
			JSON.parse(line) as {
				rule: string;
				token?: string;
				zone?: string;
				crowd?: true;
				events?: true | 'full';
				steps: Step[];
			},
	);

/** A raw connection whose frames are read one by one; `undefined` is the end. */
class RawConnection {
	readonly socket: Socket;
	readonly #frames: (unknown | undefined)[] = [];
	#wake: (() => void) | undefined;

	static async open(path: string): Promise<RawConnection> {
		const connection = new RawConnection(createConnection({ path, allowHalfOpen: true }));
		await once(connection.socket, 'connect');
		return connection;
	}

	private constructor(socket: Socket) {
		this.socket = socket;
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

/** Values of "$name": what came at the first one, in JSON. */
type Remembered = Map<string, string>;
const NAME = /^\$[a-z]+$/;

/** "*" matches anything, and "$name" too, where it comes first; everything else must be there, and more may be. */
function withWildcards(expected: unknown, remembered: Remembered): unknown {
	if (expected === '*') return expect.toSatisfy(() => true);
	if (typeof expected === 'string' && NAME.test(expected)) {
		const earlier = remembered.get(expected);
		if (earlier !== undefined) return JSON.parse(earlier);
		return expect.toSatisfy((value) => remembered.set(expected, JSON.stringify(value)).has(expected));
	}
	if (Array.isArray(expected)) return expected.map((value) => withWildcards(value, remembered));
	if (typeof expected !== 'object' || expected === null) return expected;
	return expect.objectContaining(
		Object.fromEntries(Object.entries(expected).map(([name, value]) => [name, withWildcards(value, remembered)])),
	);
}

function bytesOf(step: Step, remembered: Remembered): Buffer | undefined {
	const text = step['>'];
	if (text !== undefined)
		return Buffer.from(text.replace(/"\$[a-z]+"/g, (name) => remembered.get(name.slice(1, -1)) ?? name));
	if (step['>base64'] !== undefined) return Buffer.from(step['>base64'], 'base64');
	if (step['>repeat'] !== undefined) return Buffer.from(step['>repeat'][0].repeat(step['>repeat'][1]));
	return undefined;
}

describe('vectors: conversations with a real sidecar', () => {
	/** A sidecar of its own for each kind that a conversation may ask for. */
	const places = new Map<string, TempSocket>();
	const sidecars: RunningProcess[] = [];

	async function start(kind: string, args: string[] = [], env: Record<string, string> = {}): Promise<void> {
		const place = await tempSocket();
		places.set(kind, place);
		const services = join(place.directory, 'services.json');
		const barista = [{ host: '1.2.3.4', port: 8765 }];
		const keys = { 'app/limits': '{"max":5}', 'app/greeting': 'höflich' };
		const crowd = Array.from({ length: 12 }, (_, index) => ({ host: `10.0.0.${index + 1}`, port: 80 }));
		const shops = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`shop-${10 + index}`, barista]));
		const all = { barista, ...(kind === 'crowded' && { crowd, ...shops }) };
		writeFileSync(services, JSON.stringify({ services: all, keys }));
		const local = ['--backend', 'local', '--services', services];
		sidecars.push(await startSidecar(place.path, [...local, ...args], { env, cwd: place.directory }));
	}

	beforeAll(async () => {
		const token = conversations.find((conversation) => conversation.token !== undefined)?.token ?? '';
		const events = ['--events', 'log', '--events-streams', 'orders', '--events-free-bytes-min'];
		await Promise.all([
			start('plain'),
			start('crowded'),
			start('zoned', ['--zone', conversations.find(({ zone }) => zone !== undefined)?.zone ?? '']),
			start('guarded', ['--token-on-socket'], { SPOCK_TOKEN: token }),
			start('events', [...events, '0']),
			// More than any disk has.
			start('full', [...events, `${Number.MAX_SAFE_INTEGER}`]),
		]);
	});

	afterAll(async () => {
		for (const started of [...sidecars, ...places.values()]) await started[Symbol.asyncDispose]();
	});

	it('there are conversations', () => expect(conversations.length).toBeGreaterThan(70));

	for (const { rule, token, zone, crowd, events, steps } of conversations) {
		const special = zone !== undefined ? 'zoned' : crowd ? 'crowded' : undefined;
		const other = token !== undefined ? 'guarded' : special;
		const kind = other ?? (events === undefined ? 'plain' : events === true ? 'events' : events);
		it(rule, async () => {
			const connections = new Map<string, RawConnection>();
			const remembered: Remembered = new Map();
			try {
				for (const step of steps) {
					const { on = '' } = step;
					const connection = connections.get(on) ?? (await RawConnection.open((places.get(kind) as TempSocket).path));
					connections.set(on, connection);
					const bytes = bytesOf(step, remembered);
					if (bytes !== undefined) connection.socket.write(bytes);
					else if (step.end) connection.socket.end();
					else if (step.closed) expect(await connection.next()).toBeUndefined();
					else expect(await connection.next()).toEqual(withWildcards(step['<'], remembered));
				}
			} finally {
				for (const { socket } of connections.values()) socket.destroy();
			}
		});
	}
});
