import type { AckedData, EventWindow, OpenProducerReply, UplinkFrame } from '@spock/protocol';

import type { Intake, OpenedProducer, ProducerLine, Uplink } from '../foundation/event-sessions.ts';
import type { Producer } from './producer.ts';

/** A call line of a producer, and the ticket that it was given. */
export class SessionLine implements OpenedProducer {
	readonly session: ProducerSession;
	readonly line: ProducerLine;
	readonly #answer: (line: SessionLine) => OpenProducerReply;
	readonly #ended: (line: SessionLine) => void;
	#reply: OpenProducerReply | undefined;

	constructor(
		session: ProducerSession,
		line: ProducerLine,
		answer: (line: SessionLine) => OpenProducerReply,
		ended: (line: SessionLine) => void,
	) {
		this.session = session;
		this.line = line;
		this.#answer = answer;
		this.#ended = ended;
	}

	/** Made when it is first read, and pushes begin then: none can overtake it, and none is missed. */
	get reply(): OpenProducerReply {
		this.#reply ??= this.#answer(this);
		return this.#reply;
	}

	/** True once it was answered. */
	get isTold(): boolean {
		return this.#reply !== undefined;
	}

	get ticket(): string | undefined {
		return this.#reply?.ticket;
	}

	closed(): void {
		this.#ended(this);
	}
}

/** A producer with a connection: its call lines, which are told, and its uplinks, which are read. */
export class ProducerSession {
	readonly producer: Producer;
	readonly lines: Set<SessionLine> = new Set();
	readonly uplinks: Set<ProducerUplink> = new Set();
	/** The largest window that its events under way may have been sent by. */
	granted: EventWindow;

	constructor(producer: Producer, granted: EventWindow) {
		this.producer = producer;
		this.granted = granted;
	}

	/** Says on every line what has become of its events since it was said last. */
	tell(): void {
		const { producer, lines } = this;
		const { name, epoch, persisted } = producer;
		const stored = producer.takeChanged();
		// The next answer to `openProducer` has it all.
		if (lines.size === 0) return;
		const refused = producer.takeRefused();
		const refusedByStore = producer.takeRefusedByStore();
		const data: AckedData = {
			producer: name,
			epoch,
			persisted,
			...(stored !== undefined && { stored }),
			...(refused !== undefined && { refused }),
			...(refusedByStore !== undefined && { refusedByStore }),
		};
		for (const { line, isTold } of lines) if (isTold) line.acked(data);
	}

	/** True once it has sent more than it was given. */
	isBeyond({ bytes, events }: EventWindow): boolean {
		const { producer, granted } = this;
		const count = producer.appended - producer.persisted;
		return (producer.bytes > bytes && producer.bytes > granted.bytes) || (count > events && count > granted.events);
	}
}

/** One connection by which events of a producer come. */
export class ProducerUplink implements Uplink {
	readonly session: ProducerSession;
	readonly #intake: Intake;
	readonly #accept: (uplink: ProducerUplink, frame: UplinkFrame) => 'go on' | 'close';
	readonly #ended: (uplink: ProducerUplink) => void;
	#isOpen = true;
	#isPaused = false;

	constructor(
		session: ProducerSession,
		intake: Intake,
		accept: (uplink: ProducerUplink, frame: UplinkFrame) => 'go on' | 'close',
		ended: (uplink: ProducerUplink) => void,
	) {
		this.session = session;
		this.#intake = intake;
		this.#accept = accept;
		this.#ended = ended;
	}

	frame(frame: UplinkFrame): 'go on' | 'close' {
		if (!this.#isOpen) return 'close';
		const verdict = this.#accept(this, frame);
		if (verdict === 'close') this.closed();
		return verdict;
	}

	closed(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		this.#ended(this);
	}

	/** True if it was not paused before. */
	pause(): boolean {
		if (this.#isPaused) return false;
		this.#isPaused = true;
		this.#intake.pause();
		return true;
	}

	resume(): void {
		this.#isPaused = false;
		this.#intake.resume();
	}
}
