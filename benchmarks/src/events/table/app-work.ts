import type { Samples } from '../../load/samples.ts';

/** What the app of a row is to do. */
export interface AppWork {
	readonly row: 'unary' | 'stream' | 'events';
	/** Of the store, or of the app's sidecar: `127.0.0.1:5000` or the path of a socket. */
	readonly address: string;
	/** Whether each message is compressed by itself; events leave that to the connection between sidecars. */
	readonly isPacked: boolean;
	readonly bytes: number;
	readonly seed: number;
}

/** What it found. */
export interface AppReport {
	/** From the first message to the last acknowledgement of the store. */
	readonly seconds: number;
	readonly messages: number;
	/** Of the messages as the app has them. */
	readonly bytes: number;
	/** What the app waits for one message: by what it waits for, in milliseconds. */
	readonly waits: Readonly<Record<string, Wait>>;
}

/** Of a number of calls, in milliseconds. */
export interface Wait {
	readonly p50Ms: number;
	readonly p99Ms: number;
}

/** Percentiles of what was recorded in milliseconds. */
export function waitOf(samples: Samples): Wait {
	samples.sort();
	return { p50Ms: samples.percentile(0.5), p99Ms: samples.percentile(0.99) };
}

/** Messages for a run, in turn. More than any compression looks back on are different ones; then they come again. */
export class MessageSupply {
	readonly #messages: readonly string[];
	readonly #bytesMax: number;
	#given = 0;
	#bytes = 0;

	/** `bytesMax` is what is given before it ends. */
	constructor(messages: readonly string[], bytesMax: number) {
		this.#messages = messages;
		this.#bytesMax = bytesMax;
	}

	get given(): number {
		return this.#given;
	}

	get bytes(): number {
		return this.#bytes;
	}

	/** The next one; undefined at the end. */
	take(): string | undefined {
		if (this.#bytes >= this.#bytesMax) return undefined;
		const message = this.#messages[this.#given++ % this.#messages.length] as string;
		this.#bytes += message.length;
		return message;
	}
}
