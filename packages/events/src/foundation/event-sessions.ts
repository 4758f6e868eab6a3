import type { AckedData, EventWindowData, OpenProducerReply, UplinkFrame } from '@spock/protocol';

/** The call line of a producer, for pushes. Both only write: neither calls back, neither throws. */
export interface ProducerLine {
	/** Once for a commit at most. */
	acked(data: AckedData): void;
	window(data: EventWindowData): void;
}

/** What a producer's call line has opened. */
export interface OpenedProducer {
	/** Made when it is first read: then send it at once, since pushes that go on from it may follow. */
	readonly reply: OpenProducerReply;
	/** The call line has ended: no more pushes, and its ticket is void. The uplink is untouched. Idempotent. */
	closed(): void;
}

/** Reading from the connection of an uplink. */
export interface Intake {
	/** Stop reading: the producer has sent more than its window. Frames that were read already may still be given. */
	pause(): void;
	resume(): void;
}

/** A connection by which a producer's events come. Nothing is ever written to it. */
export interface Uplink {
	/** Takes a frame. `close`: the connection must be closed, and later frames are ignored. */
	frame(frame: UplinkFrame): 'go on' | 'close';
	/** The connection has ended, and every frame that came by it was given. Idempotent. */
	closed(): void;
}
