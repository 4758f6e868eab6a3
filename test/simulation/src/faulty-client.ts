import { channel, subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { Diplomat } from '@spock/client';
import { type ServiceAddress, SpockError } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

type ClientFault = (diplomat: Diplomat, clock: Clock) => Diplomat;

const REQUEST_END = 'spock:client:request:end';

/** What is known is lost with the connection. */
export const forgetsWhenLost: ClientFault = (diplomat) =>
	replacing(diplomat, {
		pick: (...args) => (diplomat.status().state === 'ready' ? diplomat.pick(...args) : undefined),
	});

/** An answer that is known from before is given as if it were live. */
export const callsStaleLive: ClientFault = (diplomat) =>
	replacing(diplomat, {
		pick: (...args) => {
			const { stale: _stale, ...address } = diplomat.pick(...args) ?? {};
			return 'host' in address ? (address as ServiceAddress) : undefined;
		},
	});

/**
 * What is known when the connection is lost counts as true until a pick of the app finds the connection lost, or until a while before that:
 * the age is counted from then, and not from the last byte of the sidecar.
 */
export function countsFromLoss(beforeMs: number): ClientFault {
	return (diplomat, clock) => {
		let trueAtMs = clock.now();
		let isReady = false;
		return replacing(diplomat, {
			pick: (...args) => {
				const isReadyNow = diplomat.status().state === 'ready';
				if (isReadyNow || isReady) trueAtMs = clock.now() - beforeMs;
				isReady = isReadyNow;
				const address = diplomat.pick(...args);
				if (address?.ageMs === undefined || isReadyNow) return address;
				return { ...address, ageMs: Math.min(address.ageMs, Math.max(0, clock.now() - trueAtMs)) };
			},
		});
	};
}

/** A lookup that nothing is known for is not waited for. */
export const failsFirstLookups: ClientFault = (diplomat) =>
	replacing(diplomat, {
		getService: async (service, ...more) => {
			if (diplomat.pick(service) !== undefined) return diplomat.getService(service, ...more);
			throw new SpockError('UNAVAILABLE', 'nothing is known yet');
		},
	});

/** Answers come so much later, in milliseconds. */
export function answersLate(ms: number): ClientFault {
	return (diplomat, clock) =>
		replacing(diplomat, {
			getInstances: async (...args) => {
				const snapshot = await diplomat.getInstances(...args);
				await new Promise<void>((resolve) => clock.setTimeout(resolve, ms));
				return snapshot;
			},
		});
}

/** What an app calls has failed, whatever it was. */
export const reportsFailures: ClientFault = (diplomat) =>
	replacing(diplomat, {
		tryAcquire: (...args) => {
			const lease = diplomat.tryAcquire(...args);
			return lease && replacing(lease, { release: (_outcome, latencyMs) => lease.release('failure', latencyMs) });
		},
	});

/** The end of every call is reported twice. Gives what ends that. */
export function reportsEndsTwice(): () => void {
	let isSecond = false;
	const again = (message: unknown): void => {
		if (isSecond) return;
		isSecond = true;
		channel(REQUEST_END).publish(message);
		isSecond = false;
	};
	subscribe(REQUEST_END, again);
	return () => unsubscribe(REQUEST_END, again);
}

function replacing<T extends object>(target: T, members: Partial<T>): T {
	return new Proxy(target, {
		get: (_target, name): unknown => {
			if (Object.hasOwn(members, name)) return Reflect.get(members, name);
			const value: unknown = Reflect.get(target, name, target);
			return typeof value === 'function' ? (value.bind(target) as unknown) : value;
		},
	});
}
