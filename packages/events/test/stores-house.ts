import { FakeClock, settle } from '@spock/testkit';
import { SimClaims, SimDisk, SimFiles } from '@spock/testkit/sim-files';

import { SimStore, type SimStoreOptions } from '../src/contract/sim-store.ts';
import { EventService } from '../src/event-service.ts';
import { forwardTo } from '../src/forward/index.ts';
import type { Delivery } from '../src/foundation/event-sessions.ts';
import type { EventsObserver } from '../src/foundation/events-observer.ts';
import { seededRandom } from './seeded-random.ts';

const MINUTE_MS = 60_000;

/** A consumer that keeps what it is given. */
export class Sink {
	readonly events: Delivery[] = [];

	deliver(events: readonly Delivery[]): void {
		this.events.push(...events);
	}

	closed(): void {}
}

/** A sidecar's events, of which `orders` goes to a simulated store; it can be started again. */
export class StoresHouse {
	readonly clock: FakeClock = new FakeClock();
	disk: SimDisk = new SimDisk();
	/** What the log was called, each time that it began to be sent. */
	readonly names: string[] = [];
	readonly #random = seededRandom(2);
	readonly options: SimStoreOptions = {
		clock: this.clock,
		random: seededRandom(1),
		dedupeEvents: 0,
		refuses: ({ text }) => text.includes('bad'),
	};
	readonly observer: EventsObserver;
	store: SimStore = new SimStore(this.options);
	service: EventService = this.#make();

	constructor(observer: EventsObserver = {}) {
		this.observer = observer;
		this.service = this.#make();
	}

	async open(): Promise<this> {
		await this.service.open(false);
		return this;
	}

	async restart(): Promise<void> {
		await this.service.handOver();
		this.store = this.store.reopened();
		this.service = this.#make();
		await this.open();
	}

	embedded(): EventService {
		return this.#make(false);
	}

	async publish(payload: unknown, stream = 'orders'): Promise<void> {
		await this.service.publish({ stream, payload });
		await settle();
	}

	get stored(): unknown[] {
		return this.store.eventsOf('orders').map(({ text }) => (JSON.parse(text) as { payload: unknown }).payload);
	}

	#make(isElsewhere = true): EventService {
		return new EventService({
			directory: '/log',
			files: new SimFiles(this.disk),
			owner: new SimClaims().owner(),
			clock: this.clock,
			random: this.#random,
			limits: { bytesMax: 8 * 1024 * 1024, freeBytesMin: 0, retentionMs: MINUTE_MS },
			observer: this.observer,
			...(isElsewhere && {
				stores: forwardTo({
					storeOf: (stream) => (stream.startsWith('orders') ? this.store : undefined),
					identified: (name) => {
						// Under another name a store has nothing of this log.
						if (this.names.length > 0 && this.names.at(-1) !== name) this.store = new SimStore(this.options);
						this.names.push(name);
					},
				}),
			}),
		});
	}
}
