import type { ServiceDetail, StatusView } from '../../admin/status-view.ts';
import { timeoutOf } from '../client/sidecar-target.ts';
import { print } from '../output/output.ts';
import { isColoured } from '../output/page.ts';
import { Terminal } from './terminal.ts';
import { adminAddressOf, TopFeed } from './top-feed.ts';
import { drawTop, printTop, type Screen } from './top-screen.ts';
import { FIRST_STATE, keysIn, press, type TopState } from './top-state.ts';

/** Flags of `sidecar top`. */
export interface TopFlags {
	/** Where the admin server is, HOST:PORT. */
	readonly admin: string;
	readonly timeout?: string;
	readonly json?: boolean;
	readonly once?: boolean;
}

/**
 * `sidecar top`: what the sidecar sees, on a whole terminal, until `q` or Ctrl-C. With --once, --json, or where the output or
 * the input is no terminal, it is printed once.
 */
export async function top(flags: TopFlags): Promise<void> {
	const feed = new TopFeed(adminAddressOf(flags.admin), timeoutOf(flags));
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
	readonly #isColoured = isColoured(process.stdout);
	#view: StatusView;
	#detail: ServiceDetail | undefined;
	#trouble: string | undefined;
	#state: TopState = FIRST_STATE;
	#screen: Screen | undefined;
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
		this.#draw();
		feed.follow({
			view: (view) => {
				this.#view = view;
				this.#trouble = undefined;
				void this.#refreshDetail();
				this.#draw();
			},
			lost: ({ message }) => {
				this.#trouble = message;
				this.#draw();
			},
		});
	}

	/** Asks for the open service, if there is one. A sidecar that is slow is not asked more. */
	async #refreshDetail(): Promise<void> {
		const { detail: key } = this.#state;
		if (key === undefined || this.#isAsking) return;
		this.#isAsking = true;
		try {
			const detail = await this.#feed.service(key);
			if (this.#state.detail === key) this.#detail = detail;
		} catch (error) {
			if (this.#state.detail === key) this.#trouble = (error as Error).message;
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
				if (next.detail !== undefined) void this.#refreshDetail();
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
		this.#terminal.close();
		this.#end();
	}
}
