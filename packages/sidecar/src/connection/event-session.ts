import type {
	CloseConsumerData,
	DeleteGroupData,
	Notice,
	OpenConsumerData,
	OpenConsumerReply,
	OpenProducerData,
	OpenProducerReply,
	PublishData,
	PublishReply,
	RewindGroupData,
	RewindGroupReply,
} from '@spock/protocol';

/** A connection, as its events see it. */
export interface EventLine {
	readonly id: number;
	/** The same on all connections of one client; undefined where it cannot be recognised. */
	readonly identity: string | undefined;
	/** Longest frame that the client reads, in bytes. */
	readonly frameBytesMax: number;
	/** Sends a line with the others of this tick; does nothing once the connection is gone. */
	send(line: string): void;
	/** Stops reading from the connection, beside whatever else may stop it. */
	hold(): void;
	/** Reads on, when it is its turn. */
	release(): void;
}

/** The events of one connection: as the call line of producers, as an uplink, or for consumers. */
export interface EventSession {
	openProducer(data: OpenProducerData): OpenProducerReply | Promise<OpenProducerReply>;
	publish(data: PublishData, signal: AbortSignal): Promise<PublishReply>;
	openConsumer(data: OpenConsumerData, signal: AbortSignal): Promise<OpenConsumerReply>;
	closeConsumer(data: CloseConsumerData): void;
	rewindGroup(data: RewindGroupData): Promise<RewindGroupReply>;
	deleteGroup(data: DeleteGroupData): Promise<void>;
	/** A notice of a consumer. Throws BAD_REQUEST. */
	notice(notice: Notice): void;
	/** What takes the frames of this connection from now on, if this is a ticket that was given and not used. Throws BAD_REQUEST. */
	uplink(data: unknown): UplinkSession | undefined;
	/** The connection is gone. Called once. */
	closed(): void;
}

/** A connection on which nothing but events comes, and nothing goes. */
export interface UplinkSession {
	/** Takes a frame, of so many bytes in UTF-8. `close`: the connection must be closed, and later frames are ignored. */
	frame(text: string, bytes: number): 'go on' | 'close';
	/** The connection is gone, and every frame that came by it was given. */
	closed(): void;
}

/** What takes and delivers events, for all connections. */
export interface EventSessions {
	/** The events of a connection, when it first has to do with any. */
	session(line: EventLine): EventSession;
}
