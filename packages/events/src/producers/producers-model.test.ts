import type { AckedData, UplinkFrame } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ManualLog } from '../../test/manual-log.ts';
import type { ProducerLine, Uplink } from '../foundation/event-sessions.ts';
import type { PlantedBugs } from './event-appender.ts';
import { Producers } from './producers.ts';
import { WINDOWS_BYTES_MAX } from './windows.ts';

const NAMES = ['a', 'b', 'c'];
const ID_COUNT = 3;
const FAILURES_RUNS = 300;

/** One thing that happens. `of`: which producer; `which`: which of its uplinks; `at`: how much of the log a commit or a crash covers, in eighths. */
type Happening =
	| { readonly kind: 'emit'; readonly of: number; readonly which: number; readonly id: number; readonly length: number }
	| { readonly kind: 'again' | 'skip'; readonly of: number; readonly which: number; readonly back: number }
	| { readonly kind: 'reconnect' | 'rename' | 'line lost' | 'uplink lost'; readonly of: number }
	| { readonly kind: 'commit' | 'crash'; readonly at: number; readonly checkpoint: boolean }
	| { readonly kind: 'wait'; readonly ms: number };

const of = fc.nat(NAMES.length - 1);
const which = fc.nat(1);
const happening: fc.Arbitrary<Happening> = fc.oneof(
	{
		weight: 8,
		arbitrary: fc.record({
			kind: fc.constant('emit' as const),
			of,
			which,
			id: fc.nat(2 * ID_COUNT),
			length: fc.integer({ min: 1, max: 40_000 }),
		}),
	},
	{ weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('again', 'skip'), of, which, back: fc.nat(3) }) },
	{ weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('reconnect', 'rename', 'line lost', 'uplink lost'), of }) },
	{ weight: 3, arbitrary: fc.record({ kind: fc.constant('commit'), at: fc.nat(8), checkpoint: fc.boolean() }) },
	{ weight: 1, arbitrary: fc.record({ kind: fc.constant('crash'), at: fc.nat(8), checkpoint: fc.boolean() }) },
	{ weight: 1, arbitrary: fc.record({ kind: fc.constant('wait'), ms: fc.nat(100_000) }) },
) as fc.Arbitrary<Happening>;

interface Sent {
	readonly seq: number;
	readonly id: string | undefined;
	readonly length: number;
}

/** A process that writes events: what it has sent and was told, and its connections. */
class Client {
	readonly name: string;
	epoch: number | undefined;
	told = 0;
	last = 0;
	sent: Sent[] = [];
	closeLine: (() => void) | undefined;
	uplinks: Uplink[] = [];
	isOpening = false;

	constructor(name: string) {
		this.name = name;
	}

	/** Its process is another one now. */
	restart(): void {
		this.epoch = undefined;
		this.told = 0;
		this.last = 0;
		this.sent = [];
		this.disconnect();
	}

	disconnect(): void {
		this.closeLine = undefined;
		this.uplinks = [];
	}
}

/** A sidecar that is killed and started, its clients, and what each was told. */
class World {
	readonly #bugs: PlantedBugs;
	readonly #clock = new FakeClock();
	readonly #clients = NAMES.map((name) => new Client(name));
	/** For each epoch of a producer, the highest `persisted` that was told. */
	readonly #promised = new Map<string, number>();
	#log: ManualLog;
	#producers: Producers;
	#checkpoint: { readonly text: string; readonly at: number } | undefined;

	constructor(bugs: PlantedBugs) {
		this.#bugs = bugs;
		[this.#log, this.#producers] = this.#start();
	}

	async run(happenings: readonly Happening[]): Promise<void> {
		for (const each of happenings) {
			await this.#happen(each);
			this.#check();
		}
		await this.#settle();
		this.#check();
	}

	async #happen(each: Happening): Promise<void> {
		switch (each.kind) {
			case 'wait':
				return this.#clock.advance(each.ms);
			case 'crash':
				return this.#crash(each.at);
			case 'commit':
				return this.#commit(each.at, each.checkpoint);
			case 'line lost':
				return this.#clientOf(each).closeLine?.();
			case 'uplink lost':
				return this.#clientOf(each).uplinks.pop()?.closed();
			case 'rename':
				this.#clientOf(each).restart();
				return this.#open(this.#clientOf(each));
			case 'reconnect':
				return this.#open(this.#clientOf(each));
			default:
				return this.#send(this.#clientOf(each), each);
		}
	}

	#clientOf(each: { readonly of: number }): Client {
		return this.#clients[each.of] as Client;
	}

	#send(client: Client, each: Extract<Happening, { readonly which: number }>): void {
		const uplink = client.uplinks[each.which % Math.max(1, client.uplinks.length)];
		if (uplink === undefined) return;
		let sent: Sent;
		if (each.kind === 'emit') {
			const id = each.id < ID_COUNT ? `id-${each.id}` : undefined;
			sent = { seq: ++client.last, id, length: each.length };
			client.sent.push(sent);
		} else if (each.kind === 'skip') sent = { seq: client.last + 2 + each.back, id: undefined, length: 1 };
		else {
			const before = client.sent.at(-1 - each.back);
			if (before === undefined) return;
			sent = before;
		}
		this.#frame(client, uplink, sent);
	}

	#frame(client: Client, uplink: Uplink, { seq, id, length }: Sent): void {
		const text = `${client.epoch}:${seq}`.padEnd(length, '.');
		const frame: UplinkFrame = { kind: 'event', seq, stream: 'orders', key: undefined, id, text, bytes: text.length };
		if (uplink.frame(frame) === 'close') client.uplinks = client.uplinks.filter((each) => each !== uplink);
	}

	async #open(client: Client): Promise<void> {
		const { name, epoch, told } = client;
		const line: ProducerLine = {
			acked: (data) => this.#acked(client, data),
			window: () => undefined,
		};
		const opening = this.#producers.open(
			{ producer: name, ...(epoch !== undefined && { epoch, persisted: told }) },
			line,
		);
		this.#log.commit();
		const opened = await opening;
		const { reply } = opened;
		client.epoch = reply.epoch;
		this.#acked(client, { producer: name, epoch: reply.epoch, persisted: reply.persisted });
		client.closeLine = () => opened.closed();
		const uplink = this.#producers.uplink(reply.ticket, { pause: () => undefined, resume: () => undefined });
		if (uplink === undefined) return;
		client.uplinks.push(uplink);
		// All that it has kept goes again, in order.
		for (const sent of client.sent) if (sent.seq > client.told) this.#frame(client, uplink, sent);
	}

	#acked(client: Client, { epoch, persisted }: AckedData): void {
		const key = `${client.name}/${epoch}`;
		this.#promised.set(key, Math.max(this.#promised.get(key) ?? 0, persisted));
		if (epoch === client.epoch) client.told = Math.max(client.told, persisted);
	}

	#commit(at: number, hasCheckpoint: boolean): void {
		const { persisted, next } = this.#log;
		this.#log.commit(persisted + Math.ceil(((next - persisted) * at) / 8));
		if (hasCheckpoint && this.#log.persisted === next) {
			this.#checkpoint = { text: this.#producers.checkpoint(), at: next };
		}
	}

	/** The sidecar is killed: of what was not on disk some is there all the same. */
	#crash(at: number): void {
		const { persisted, next } = this.#log;
		const before = this.#log;
		const end = persisted + Math.floor(((next - persisted) * at) / 8);
		for (const client of this.#clients) client.disconnect();
		[this.#log, this.#producers] = this.#start(before, end);
	}

	#start(before?: ManualLog, end = 1): [ManualLog, Producers] {
		let producers: Producers | undefined;
		const log = new ManualLog(this.#clock, (persisted) => producers?.committed(persisted));
		before?.copyTo(log, end);
		producers = new Producers({ log, clock: this.#clock, plantedBugs: this.#bugs });
		const checkpoint = this.#checkpoint;
		if (checkpoint !== undefined) producers.restore(checkpoint.text);
		// Records of two minutes are always replayed, for their ids: so some may be that the checkpoint covers.
		const young = log.records().findIndex(({ time }) => time >= this.#clock.wallNow() - 120_000) + 1;
		log.replay(producers, Math.min(checkpoint?.at ?? 1, young === 0 ? log.next : young));
		producers.recovered();
		return [log, producers];
	}

	/** All clients come back, and everything is committed. */
	async #settle(): Promise<void> {
		for (const client of this.#clients) {
			if (client.epoch === undefined) continue;
			try {
				await this.#open(client);
			} catch {
				// Its epoch is over.
				client.restart();
			}
		}
		this.#log.commit();
		for (const client of this.#clients) {
			// Everything that it has sent is persisted.
			if (client.uplinks.length > 0) expect(client.told).toBe(client.last);
		}
	}

	/** What holds at any time. */
	#check(): void {
		expect(this.#producers.windowBytes).toBeLessThanOrEqual(WINDOWS_BYTES_MAX);
		const onDisk = new Map<string, number>();
		const lastOf = new Map<string, number>();
		const repetitions = new Map<string, number>();
		for (const record of this.#log.records()) {
			let key: string;
			let seq: number;
			if (record.kind === 'event') {
				key = `${record.producer}/${record.epoch}`;
				({ seq } = record);
				expect(record.text.startsWith(`${record.epoch}:${seq}`)).toBe(true);
				const before = record.id === undefined ? undefined : repetitions.get(record.id);
				if (record.id !== undefined) {
					// An id is taken once in two minutes, across restarts.
					if (before !== undefined) expect(record.time - before).toBeGreaterThan(120_000);
					repetitions.set(record.id, record.time);
				}
			} else {
				const note = JSON.parse(record.text) as { kind: string; producer: string; epoch: number; seq: number };
				if (note.kind === 'opened') continue;
				key = `${note.producer}/${note.epoch}`;
				({ seq } = note);
			}
			// Each seq once, in order, without a gap.
			expect(seq).toBe((lastOf.get(key) ?? 0) + 1);
			lastOf.set(key, seq);
			if (record.position < this.#log.persisted) onDisk.set(key, seq);
		}
		// Nothing was told that is not on disk.
		for (const [key, told] of this.#promised) expect(told).toBeLessThanOrEqual(onDisk.get(key) ?? 0);
	}
}

function property(bugs: PlantedBugs): fc.IAsyncProperty<[Happening[]]> {
	return fc.asyncProperty(fc.array(happening, { minLength: 10, maxLength: 60 }), async (happenings) => {
		await new World(bugs).run([{ kind: 'reconnect', of: 0 }, { kind: 'reconnect', of: 1 }, ...happenings]);
	});
}

describe('producers, whatever happens', () => {
	it('keep each seq once, in order, and are told of nothing that is not on disk', async () => {
		await fc.assert(property({}), { numRuns: FAILURES_RUNS });
	});

	it.each<keyof PlantedBugs>(['takesGaps', 'forgetsIdsOnRestart', 'tellsBeforeCommit'])(
		'this finds that a sidecar %s',
		async (bug) => {
			const { failed } = await fc.check(property({ [bug]: true }), { numRuns: FAILURES_RUNS, seed: 1 });
			expect(failed).toBe(true);
		},
	);
});
