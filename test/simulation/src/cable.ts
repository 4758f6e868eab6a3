import type { BytePipe, LinkQuality } from './byte-pipe.ts';
import type { Scheduler } from './scheduler.ts';
import type { SeededRandom } from './seeded-random.ts';

/** After a gap TCP sends again within this time, in milliseconds. */
const RESEND_MS_MAX = 1000;

/** How a machine hangs on the network. Cut, neither side hears of the other, nor of its end: bytes, FIN and RST alike wait, or are lost. */
export class Cable {
	/** The machine's address, as the other side sees it. */
	readonly address: string;
	readonly quality: LinkQuality = {
		latencyMsMin: 0.1,
		latencyMsMax: 2,
		splitChance: 0.1,
		isHeld: false,
		isDark: false,
	};
	readonly #scheduler: Scheduler;
	readonly #random: SeededRandom;
	readonly #pipes = new Set<BytePipe>();
	readonly #waiting: (() => void)[] = [];
	#cutAtMs = Number.POSITIVE_INFINITY;

	constructor(address: string, scheduler: Scheduler, random: SeededRandom) {
		this.address = address;
		this.#scheduler = scheduler;
		this.#random = random;
	}

	get isCut(): boolean {
		return this.quality.isDark;
	}

	/** Since when it is cut, in virtual milliseconds; Infinity while it is not. */
	get cutAtMs(): number {
		return this.#cutAtMs;
	}

	/** This pipe goes over it. */
	carry(pipe: BytePipe): void {
		this.#pipes.add(pipe);
	}

	/** Called when it is mended: an attempt to connect is made again by the kernel, and fails by its own time-out alone. */
	whenMended(dial: () => void): void {
		this.#waiting.push(dial);
	}

	cut(): void {
		if (this.isCut) return;
		this.quality.isDark = true;
		this.#cutAtMs = this.#scheduler.nowMs;
	}

	/** What was written meanwhile arrives after all, and each side hears whether the other one has let go. */
	mend(): void {
		if (!this.isCut) return;
		this.quality.isDark = false;
		this.#cutAtMs = Number.POSITIVE_INFINITY;
		for (const pipe of this.#pipes) {
			if (pipe.isOver) this.#pipes.delete(pipe);
			else pipe.mended(this.#resendMs());
		}
		for (const dial of this.#waiting.splice(0)) {
			this.#scheduler.schedule(this.#resendMs(), 'connect again', undefined, dial);
		}
	}

	#resendMs(): number {
		return this.#random.unit() * RESEND_MS_MAX;
	}
}
