import { Duplex } from 'node:stream';

import { createDiplomat, type Diplomat, type Transport } from '@spock/client';
import { BackendSource } from '@spock/discovery';
import { encodePayload, encodeReply, encodeReplyTail } from '@spock/protocol';

import { ADDRESS, SERVICE } from '../servers/catalogue.ts';
import { inZone, type Operation, tenInstances } from './hot-path.ts';
import { manualBackend } from './manual-backend.ts';

const IN_FLIGHT = 64;
const REPLY_TAIL: string = encodeReplyTail(encodePayload(ADDRESS));
const SNAPSHOT_TAIL: string = encodeReplyTail(encodePayload(tenInstances()));
const ID_PREFIX_LENGTH: number = '{"id":'.length;

/** A peer in this process that answers every request with the same address or snapshot, all those of one write in one chunk. */
class InstantPeer extends Duplex {
	readonly #receive: (chunk: Buffer) => void;
	readonly #chunk: Buffer = Buffer.allocUnsafeSlow(65_536);
	#answers = '';

	constructor(receive: (chunk: Buffer) => void) {
		super({ decodeStrings: false });
		this.#receive = receive;
		setImmediate(() => this.emit('connect'));
	}

	override _read(): void {
		// Bytes are given to `receive`.
	}

	override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
		if (this.#answers === '') setImmediate(this.#answer);
		for (let start = 0; start < text.length; start = text.indexOf('\n', start) + 1) {
			const id = text.slice(start, text.indexOf(',', start + ID_PREFIX_LENGTH));
			const asks = (func: string): boolean => text.startsWith(`,"func":"${func}"`, start + id.length);
			if (asks('hello')) this.#answers += encodeReply(Number(id.slice(ID_PREFIX_LENGTH)), 'null');
			else this.#answers += id + (asks('getInstances') ? SNAPSHOT_TAIL : REPLY_TAIL);
		}
		done();
	}

	readonly #answer = (): void => {
		const byteCount = this.#chunk.write(this.#answers, 0, 'latin1');
		this.#answers = '';
		this.#receive(this.#chunk.subarray(0, byteCount));
	};
}

const instantTransport: Transport = (_address, receive) => new InstantPeer(receive);

/** Whole calls and lookups of the client, as users make them, with nothing beyond its transport; and how to end it. */
export async function clientCalls(): Promise<{
	readonly operations: readonly Operation[];
	close(): Promise<void>;
}> {
	const remote = createDiplomat({
		transport: instantTransport,
		path: '/instant',
		lookups: 'remote',
		heartbeatMs: 60_000,
	});
	await remote.ready();
	const local: Diplomat = createDiplomat({
		source: new BackendSource({ backend: manualBackend(tenInstances().instances) }),
	});
	await local.getService(SERVICE);
	const backend = manualBackend(tenInstances().instances.map(inZone));
	const zonal: Diplomat = createDiplomat({
		source: new BackendSource({ backend }),
		...{ zone: 'c', zonePolicy: 'prefer', subset: 5, subsetKey: 'bench' },
	});
	await zonal.getService(SERVICE);
	const pending: Promise<unknown>[] = [];
	return {
		operations: [
			['client: pick() from a snapshot', () => local.pick(SERVICE)],
			['client: pick() from a snapshot, with zones and a subset', () => zonal.pick(SERVICE)],
			['client: await getService() from a snapshot', () => local.getService(SERVICE)],
			['client: one call at a time', () => remote.getService(SERVICE)],
			['client: ten instances, read from the wire', () => remote.getInstances(SERVICE)],
			[
				`client: ${IN_FLIGHT} calls in flight`,
				async () => {
					for (let index = 0; index < IN_FLIGHT; index++) pending[index] = remote.getService(SERVICE);
					for (let index = 0; index < IN_FLIGHT; index++) await pending[index];
				},
			],
		],
		close: async () => {
			await Promise.all([remote.close(), local.close(), zonal.close()]);
		},
	};
}
