import { type Backend, type BackendObserver, type BackendWatch, type Registrar, WatchLoop } from '@spock/discovery';
import {
	type BackendStatus,
	type CallOptions,
	isAskedFor,
	isServing,
	type KeyEntry,
	type KeyQuery,
	type ServiceInstance,
	type ServiceListEntry,
	type ServiceQuery,
} from '@spock/protocol';

import type { ProcessLog } from './answer-log.ts';
import { keyName, questionName } from './question-name.ts';
import { type Asked, askRegistry, type RegistryLink } from './registry-query.ts';
import { simRegistrar } from './sim-registrar.ts';

/** A registry's port as Consul's looks: a blocking watch for each query, by the real loop. */
export class SimBackend implements Backend {
	readonly name = 'simulated';
	readonly registrar: Registrar;
	readonly #link: RegistryLink;
	readonly #log: ProcessLog;
	readonly #loops = new Set<{ stop(): void }>();
	readonly #broken: (message: string) => void;
	#error: string | null = null;

	/** `broken`: a watch asks for something that it may not ask for. */
	constructor(link: RegistryLink, log: ProcessLog, broken: (message: string) => void) {
		this.#broken = broken;
		this.#link = link;
		this.#log = log;
		this.registrar = simRegistrar(link);
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		const { registry } = this.#link;
		const item = registry.services.get(query.service) ?? registry.unknown(query.service);
		const name = questionName(query);
		const isPlain =
			(query.tags === undefined && query.meta === undefined) || this.#link.injection.ignoresConditions === true;
		let last:
			| { all: readonly ServiceInstance[]; asked: readonly ServiceInstance[]; told: readonly ServiceInstance[] }
			| undefined;
		return this.#watch<ServiceInstance>(
			name,
			{
				item,
				// The same answer is the same object, as the real backend has it.
				select: (all) => {
					if (last?.all !== all) {
						const asked = isPlain ? all : Object.freeze(all.filter((one) => isAskedFor(query, one)));
						last = { all, asked, told: registry.toldOf(asked) };
					}
					return last.told;
				},
			},
			observer,
			(value, { version, arrivedAtMs }) => {
				// What is broken is nothing, to whoever reads it.
				const asked = value === last?.told ? last.asked : value;
				const healthy = asked.filter(isServing).length;
				// Nothing fits the conditions, and the service is there: that is no registry which has lost what it knew.
				const isLeft = !isPlain && (item.byNumber(version)?.value.length ?? 0) > 0;
				this.#log.told(name, { version, count: asked.length, healthy, isTrusted: isLeft, arrivedAtMs });
			},
		);
	}

	watchKey(query: KeyQuery, observer: BackendObserver<readonly KeyEntry[]>): BackendWatch {
		const item = this.#link.registry.keys.get(query.key);
		const name = keyName(query.key);
		return this.#watch<KeyEntry>(name, { item, select: (all) => all }, observer, (value, { version, arrivedAtMs }) =>
			this.#log.told(name, { version, count: value.length, healthy: 1, isTrusted: true, arrivedAtMs }),
		);
	}

	async list(_query: object, options: CallOptions = {}): Promise<readonly ServiceListEntry[]> {
		const { registry } = this.#link;
		await askRegistry(this.#link, { item: undefined, index: 0, signal: options.signal, select: () => [] });
		return registry.serviceNames.map((name) => ({ name, tags: [] }));
	}

	status(): BackendStatus {
		const state = this.#error === null ? 'up' : 'down';
		return { name: this.name, state, addresses: [], error: this.#error, lastSuccessAgeMs: null };
	}

	close(): Promise<void> {
		for (const loop of this.#loops) loop.stop();
		this.#loops.clear();
		for (const close of [...this.#link.open]) close();
		return Promise.resolve();
	}

	#watch<T>(
		name: string,
		asked: Asked<readonly T[]>,
		observer: BackendObserver<readonly T[]>,
		told: (value: readonly T[], answer: { readonly version: number; readonly arrivedAtMs: number }) => void,
	): BackendWatch {
		const { injection, process, random } = this.#link;
		this.#log.watchStarted(name);
		// After an error, and after an index that went back: a larger index than the registry's would block for a whole wait.
		let mustAskAnew = false;
		let before = 0;
		const loop = new WatchLoop<readonly T[]>({
			fetch: async (wanted, signal) => {
				const index = injection.asks?.(wanted, before) ?? wanted;
				if (mustAskAnew && index !== 0) this.#broken(`${name} is asked for with the index ${index} of before`);
				mustAskAnew = true;
				const answer = await askRegistry(this.#link, { ...asked, index, signal }).catch((error: unknown) => {
					if (!signal.aborted) this.#log.failed(name);
					throw error;
				});
				mustAskAnew = answer.index < index;
				before = answer.index;
				if (!signal.aborted) told(answer.value, answer);
				return answer;
			},
			isSame: (before, after) => before === after,
			answered: (value, meta) => {
				this.#error = null;
				observer.answered(value, meta);
			},
			failed: (error) => {
				this.#error = error.message;
				observer.failed(error);
			},
			clock: process.clock,
			random: random.unit,
		});
		this.#loops.add(loop);
		loop.start();
		let isStopped = false;
		return {
			retry: () => loop.retry(),
			stop: () => {
				if (isStopped) return;
				isStopped = true;
				this.#loops.delete(loop);
				loop.stop();
				this.#log.watchStopped(name);
			},
		};
	}
}
