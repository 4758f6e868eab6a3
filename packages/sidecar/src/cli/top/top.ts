import type { ServiceDetail, StatusView } from '../../handlers/status-view.ts';
import type { ClientFlags } from '../client/with-client.ts';
import { print } from '../output/output.ts';
import { Terminal } from './terminal.ts';
import { TopFeed } from './top-feed.ts';
import { drawTop, printTop, type Screen } from './top-screen.ts';
import { FIRST_STATE, keysIn, press, type TopState } from './top-state.ts';

/** Flags of `sidecar top`. */
export interface TopFlags extends ClientFlags {
	readonly once?: boolean;
}

const REFRESH_MS = 1000;

/**
 * `sidecar top`: what the sidecar sees, on a whole terminal, until `q` or Ctrl-C. With --once, --json, or where the output or
 * the input is no terminal, it is printed once.
 */
export async function top(flags: TopFlags): Promise<void> {
	const feed = new TopFeed(flags);
	try {
		const first = await feed.view();
		if (flags.json) print(JSON.stringify(first));
		else if (flags.once || !process.stdout.isTTY || !process.stdin.isTTY) print(printTop(first, FIRST_STATE));
		else await new LiveTop(feed, first).ended;
	} finally {
		feed.close();
	}
}

/** The screen, from its first answer to the last key. */
class LiveTop {
	readonly ended: Promise<void>;
	readonly #feed: TopFeed;
	readonly #terminal: Terminal;
	/** https://no-color.org */
	readonly #isColoured = (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb';
	#view: StatusView;
	#detail: ServiceDetail | undefined;
	#trouble: string | undefined;
	#state: TopState = FIRST_STATE;
	#screen: Screen | undefined;
	#timer: NodeJS.Timeout | undefined;
	#isAsking = false;
	#end: () => void = () => undefined;

	constructor(feed: TopFeed, first: StatusView) {
		this.#feed = feed;
		this.#view = first;
		this.ended = new Promise((resolve) => {
			this.#end = resolve;
		});
		this.#terminal = new Terminal({
			key: (text) => this.#pressed(text),
			redraw: () => this.#draw(),
		});
		this.#timer = setInterval(() => void this.#refresh(), REFRESH_MS);
		this.#draw();
	}

	async #refresh(): Promise<void> {
		// A sidecar that is slow is not asked more.
		if (this.#isAsking) return;
		this.#isAsking = true;
		const { detail: service } = this.#state;
		try {
			this.#view = await this.#feed.view();
			if (service !== undefined) {
				const detail = await this.#feed.explain(service);
				if (this.#state.detail === service) this.#detail = detail;
			}
			this.#trouble = undefined;
		} catch (error) {
			this.#trouble = (error as Error).message;
		} finally {
			this.#isAsking = false;
		}
		this.#draw();
	}

	#pressed(text: string): void {
		for (const key of keysIn(text)) {
			const before = this.#state.detail;
			const next = this.#screen === undefined ? this.#state : press(this.#state, key, this.#screen.shown);
			if (next === undefined) {
				this.#close();
				return;
			}
			this.#state = next;
			if (next.detail !== before) {
				this.#detail = undefined;
				if (next.detail !== undefined) void this.#refresh();
			}
			this.#draw();
		}
	}

	#draw(): void {
		const { width, height } = this.#terminal;
		const [view, detail, state, trouble] = [this.#view, this.#detail, this.#state, this.#trouble];
		this.#screen = drawTop({ view, detail, state, width, height, isColoured: this.#isColoured, trouble });
		this.#terminal.draw(this.#screen.lines);
	}

	#close(): void {
		clearInterval(this.#timer);
		this.#terminal.close();
		this.#end();
	}
}
