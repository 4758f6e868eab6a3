import type { experimental } from '@grpc/grpc-js';

import type { GrpcModule } from './grpc-module.ts';

type Helper = experimental.ChannelControlHelper;
type State = Parameters<Helper['updateState']>[0];
type Update = Parameters<experimental.ChildLoadBalancerHandler['updateAddressList']>;

/** Instances that share a part of a channel's calls. */
export interface EndpointGroup {
	/** Names the group: it keeps its connections while the plan changes. */
	readonly key: string;
	/** The fraction of the calls. 0: it stands in while no other group can be reached, and is not connected to before. */
	readonly share: number;
	readonly endpoints: experimental.Endpoint[];
}

/** The policy of one group, as far as it is known. */
interface Child {
	readonly handler: experimental.ChildLoadBalancerHandler;
	share: number;
	state: State;
	picker: experimental.Picker;
	message: string | null;
}

/** Multiples of it, less their whole part, fill the range from 0 to 1 evenly. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Shares the calls out among groups of instances; within each one, another policy does. A group that cannot be reached leaves its calls to
 * the others.
 */
export class GroupBalancer {
	readonly #grpc: GrpcModule;
	readonly #helper: Helper;
	readonly #updateState: Helper['updateState'];
	readonly #children = new Map<string, Child>();
	/** Starts the group that stands in; undefined without one. */
	#standIn: { readonly key: string; start(): void } | undefined;
	/** Children report while they are updated: their state is reported when all are. */
	#isUpdating = false;
	#point: number = Math.random();

	/** `updateState` is called with the state and the picker of all groups together. */
	constructor(grpc: GrpcModule, helper: Helper, updateState: Helper['updateState']) {
		this.#grpc = grpc;
		this.#helper = helper;
		this.#updateState = updateState;
	}

	/** As grpc-js calls it, with the endpoints of each group in place of all. False: they were not accepted. */
	update(groups: readonly EndpointGroup[], [all, ...rest]: Update): boolean {
		// Before 1.14 it was the plain list.
		const wrap = (endpoints: experimental.Endpoint[]): Update[0] =>
			Array.isArray(all) ? (endpoints as never) : this.#grpc.experimental.statusOrFromValue(endpoints);
		const give = ({ key, share, endpoints }: EndpointGroup): boolean => {
			const child = this.#child(key);
			child.share = share;
			return (child.handler.updateAddressList(wrap(endpoints), ...rest) as boolean | undefined) ?? true;
		};
		const spare = groups.find(({ share }) => share === 0);
		this.#standIn = spare && { key: spare.key, start: () => void give(spare) };
		this.#isUpdating = true;
		let isAccepted = true;
		for (const group of groups) {
			// One that is in use already goes on.
			if (group.share > 0 || this.#children.has(group.key)) isAccepted = give(group) && isAccepted;
		}
		const keys = new Set(groups.map(({ key }) => key));
		// Not before the others have their connections, which they may have in common.
		for (const key of [...this.#children.keys()]) if (!keys.has(key)) this.#drop(key);
		this.#isUpdating = false;
		this.#report();
		return isAccepted;
	}

	exitIdle(): void {
		for (const { handler } of this.#children.values()) handler.exitIdle();
	}

	resetBackoff(): void {
		for (const { handler } of this.#children.values()) handler.resetBackoff();
	}

	destroy(): void {
		this.#isUpdating = true;
		this.#standIn = undefined;
		for (const key of [...this.#children.keys()]) this.#drop(key);
	}

	#child(key: string): Child {
		const known = this.#children.get(key);
		if (known !== undefined) return known;
		const { ChildLoadBalancerHandler, createChildChannelControlHelper, QueuePicker } = this.#grpc.experimental;
		const updateState: Helper['updateState'] = (state, picker, message) => {
			Object.assign(child, { state, picker, message });
			this.#report();
		};
		const handler = new ChildLoadBalancerHandler(createChildChannelControlHelper(this.#helper, { updateState }));
		const state = this.#grpc.connectivityState.CONNECTING;
		const child: Child = { handler, share: 0, state, picker: new QueuePicker(handler), message: null };
		this.#children.set(key, child);
		return child;
	}

	#drop(key: string): void {
		const child = this.#children.get(key);
		this.#children.delete(key);
		child?.handler.destroy();
	}

	#report(): void {
		if (this.#isUpdating) return;
		const { READY, CONNECTING, IDLE, TRANSIENT_FAILURE } = this.#grpc.connectivityState;
		this.#keepStandIn();
		const children = [...this.#children.values()];
		const ready = children.filter(({ state }) => state === READY);
		const [only] = ready;
		if (only !== undefined) {
			this.#updateState(READY, ready.length === 1 ? only.picker : this.#sharing(ready), null);
			return;
		}
		for (const wanted of [CONNECTING, IDLE, TRANSIENT_FAILURE]) {
			const one = children.find(({ state }) => state === wanted);
			if (one === undefined) continue;
			this.#updateState(wanted, one.picker, one.message);
			return;
		}
	}

	/** It is connected to while no group with a share can be reached, and until one is. */
	#keepStandIn(): void {
		const { READY, TRANSIENT_FAILURE } = this.#grpc.connectivityState;
		const standIn = this.#standIn;
		if (standIn === undefined) return;
		const working = [...this.#children.values()].filter(({ share }) => share > 0);
		if (working.some(({ state }) => state === READY)) this.#drop(standIn.key);
		else if (!this.#children.has(standIn.key) && working.every(({ state }) => state === TRANSIENT_FAILURE)) {
			this.#isUpdating = true;
			standIn.start();
			this.#isUpdating = false;
		}
	}

	/** By their shares: the next group follows an even sequence, as in the picks of a Diplomat. */
	#sharing(ready: readonly Child[]): experimental.Picker {
		const sum = ready.reduce((total, { share }) => total + share, 0);
		let end = 0;
		const parts = ready.map(({ share, picker }) => {
			end += share / sum;
			return { end, picker };
		});
		const last = parts.at(-1) as (typeof parts)[number];
		return {
			pick: (args) => {
				this.#point = (this.#point + GOLDEN) % 1;
				const point = this.#point;
				return (parts.find((part) => point < part.end) ?? last).picker.pick(args);
			},
		};
	}
}
