import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Diplomat, ServiceQuery } from '@spock/client';
import { instanceKey } from '@spock/client/integrations';
import type { Clock, TimerHandle } from '@spock/protocol/internal';

import type { InstancePlace } from './balancing-plan.ts';

/** The Diplomat tells on it that an instance is ejected. */
const EJECTION_CHANNEL = 'spock:client:ejection';

/** What {@link Ejections} needs and tells. */
export interface EjectionsOptions {
	readonly diplomat: Diplomat;
	/** Of its instances; another service may have some of the same names, or at the same addresses. */
	readonly query: ServiceQuery;
	readonly clock: Clock;
	/** An instance was ejected, or may come back. */
	changed(): void;
}

/** Which instances the Diplomat has ejected because calls to them failed, and when one may come back. */
export class Ejections {
	readonly #options: EjectionsOptions;
	#timer: TimerHandle | undefined;

	constructor(options: EjectionsOptions) {
		this.#options = options;
		subscribe(EJECTION_CHANNEL, options.changed);
	}

	/** Those of these instances that get no calls now. It is asked again when one of them may come back. */
	among(instances: readonly InstancePlace[]): ReadonlySet<InstancePlace> {
		const { diplomat, query, clock, changed } = this.#options;
		const { ejected, ejectedPercentMax } = diplomat.status();
		const leftMsOf = new Map(ejected.map((one) => [instanceKey(one, one), one.leftMs]));
		const out = instances.flatMap((one) => {
			const leftMs = leftMsOf.get(instanceKey(query, one));
			return leftMs === undefined ? [] : [{ one, leftMs }];
		});
		clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		if (out.length === 0) return new Set();
		const backMs = Math.min(...out.map(({ leftMs }) => leftMs));
		this.#timer = clock.setTimeout(changed, Math.max(1, Math.ceil(backMs)));
		this.#timer.unref?.();
		// Those that come back last are out, and never more than a share: a service whose every instance fails is still called.
		const sorted = out.toSorted((left, right) => right.leftMs - left.leftMs);
		const outMax = Math.floor((instances.length * ejectedPercentMax) / 100);
		return new Set(sorted.slice(0, outMax).map(({ one }) => one));
	}

	stop(): void {
		unsubscribe(EJECTION_CHANNEL, this.#options.changed);
		this.#options.clock.clearTimeout(this.#timer);
	}
}
