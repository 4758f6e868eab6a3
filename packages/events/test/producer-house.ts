import type { AckedData, EventWindowData, UplinkFrame } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import type { LineOrigin, OpenedProducer, ProducerLine, Uplink } from '../src/foundation/event-sessions.ts';
import { Producers, type ProducersOptions } from '../src/producers/producers.ts';
import { ManualLog } from './manual-log.ts';

type Options = Partial<Omit<ProducersOptions, 'log' | 'clock'>>;

/** Producers on a log without a disk. */
export class ProducerHouse {
	readonly clock: FakeClock = new FakeClock();
	readonly log: ManualLog;
	readonly producers: Producers;

	constructor(options: Options = {}, before?: ProducerHouse, below?: number) {
		let told: Producers | undefined;
		this.log = new ManualLog(this.clock, (persisted) => told?.committed(persisted));
		if (before !== undefined) {
			this.clock.work(before.clock.now() - this.clock.now());
			before.log.copyTo(this.log, below ?? before.log.persisted);
		}
		this.producers = new Producers({ log: this.log, clock: this.clock, ...options });
		told = this.producers;
		if (before === undefined) return;
		this.log.replay(this.producers);
		this.producers.recovered();
	}

	/** Opens a producer, whose epoch is committed if it is new. */
	async open(
		producer: string,
		told: { epoch?: number; persisted?: number; gaps?: boolean } = {},
		line: TestLine = new TestLine(),
	): Promise<TestProducer> {
		const opening = this.producers.open({ producer, ...told }, line);
		this.log.commit();
		return new TestProducer(this, await opening, line);
	}

	/** The events in the log. */
	events(): (string | number)[] {
		return this.log.events().map(({ producer, seq }) => (producer === '' ? 'published' : seq));
	}
}

/** What a call line was told. */
export class TestLine implements ProducerLine {
	readonly origin: LineOrigin | undefined;
	readonly acks: AckedData[] = [];
	readonly windows: EventWindowData[] = [];

	constructor(origin?: LineOrigin) {
		this.origin = origin;
	}

	acked(data: AckedData): void {
		this.acks.push(data);
	}

	window(data: EventWindowData): void {
		this.windows.push(data);
	}
}

/** A producer with a call line. */
export class TestProducer {
	readonly opened: OpenedProducer;
	readonly line: TestLine;
	readonly #house: ProducerHouse;

	constructor(house: ProducerHouse, opened: OpenedProducer, line: TestLine) {
		this.#house = house;
		this.opened = opened;
		this.line = line;
		// Read as the sidecar does: at once.
		void opened.reply;
	}

	get reply(): OpenedProducer['reply'] {
		return this.opened.reply;
	}

	uplink(): TestUplink {
		const pauses: string[] = [];
		const intake = { pause: () => pauses.push('pause'), resume: () => pauses.push('resume') };
		const uplink = this.#house.producers.uplink(this.reply.ticket, intake);
		if (uplink === undefined) throw new Error('the ticket is void');
		return { uplink, pauses };
	}
}

export interface TestUplink {
	readonly uplink: Uplink;
	readonly pauses: string[];
}

export function event(
	seq: number,
	{ stream = 'orders', id, length = 10 }: { stream?: string; id?: string; length?: number } = {},
): UplinkFrame {
	return { kind: 'event', seq, stream, key: undefined, id, text: 'x'.repeat(length), bytes: length };
}
