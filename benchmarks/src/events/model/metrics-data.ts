/** Log-normal sizes of messages, in bytes: the article says a few kB to a few hundred, 10 to 25 kB on average. */
const MESSAGE_BYTES_MIN = 2000;
const MESSAGE_BYTES_MAX = 300_000;
const MESSAGE_BYTES_MEAN = 17_500;
/** Standard deviation of the logarithm. */
const SPREAD = 0.9;
/** Of the logarithm. The cut at both ends adds two hundredths to the mean, found by drawing a million. */
const MEAN_LOG = Math.log(MESSAGE_BYTES_MEAN * 0.98) - SPREAD ** 2 / 2;

/** Time series of a site. Each comes again once all others have been reported, as a collector does it. */
const SERIES_COUNT = 2000;
const METRICS = ['cpu_usage', 'memory_rss', 'disk_wait', 'net_receive', 'net_send', 'http_time', 'queue_length'];
const IDENTITY_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Messages of a site's collector: lines of a series, with the identity of its pod, and a value with all its digits. The same seed
 * makes the same messages. zstd shrinks one by itself 2.2 times, as the original's; see the test.
 */
export class MetricsData {
	readonly #random: () => number;
	readonly #series: readonly string[];
	#next = 0;

	constructor(seed: number) {
		this.#random = seededRandom(seed);
		this.#series = Array.from({ length: SERIES_COUNT }, () => this.#seriesName());
	}

	/** The next message. */
	message(): string {
		const size = this.#size();
		let text = '';
		while (text.length < size) {
			const series = this.#series[this.#next++ % SERIES_COUNT] as string;
			text += `${series} ${this.#random() * 10 ** Math.floor(this.#random() * 6)}\n`;
		}
		return text;
	}

	/** Messages of at least so many bytes. */
	messages(bytes: number): string[] {
		const messages: string[] = [];
		for (let made = 0; made < bytes; ) {
			const message = this.message();
			messages.push(message);
			made += message.length;
		}
		return messages;
	}

	#size(): number {
		for (;;) {
			const size = Math.exp(MEAN_LOG + SPREAD * this.#normal());
			if (size >= MESSAGE_BYTES_MIN && size <= MESSAGE_BYTES_MAX) return size;
		}
	}

	/** By Box and Muller. */
	#normal(): number {
		return Math.sqrt(-2 * Math.log(1 - this.#random())) * Math.cos(2 * Math.PI * this.#random());
	}

	#seriesName(): string {
		const metric = METRICS[Math.floor(this.#random() * METRICS.length)];
		return `${metric},pod=${this.#identity(13)}`;
	}

	#identity(length: number): string {
		const letter = (): string => IDENTITY_LETTERS[Math.floor(this.#random() * IDENTITY_LETTERS.length)] as string;
		return Array.from({ length }, letter).join('');
	}
}

/** Uniform numbers in [0, 1), the same for the same seed: mulberry32, with the 53 bits of a double from two draws. */
function seededRandom(seed: number): () => number {
	let state = seed >>> 0;
	const draw = (): number => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return (mixed ^ (mixed >>> 14)) >>> 0;
	};
	return () => ((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53;
}
