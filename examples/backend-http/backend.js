// A backend over a URL that gives {"barista":[{"host":"10.0.0.1","port":80}]}, asked again every second.
//   SERVICES_URL=http://127.0.0.1:8080/ npx --no-install sidecar start --backend ./examples/backend-http/backend.js
import { setTimeout as delay } from 'node:timers/promises';
import { SpockError } from '@spock/protocol';

export function httpBackend(url, { clock, everyMs = 1000 }) {
	const closed = new AbortController();
	const health = { name: 'http', state: 'connecting', addresses: [url], error: null };
	let answeredAtMs = null;

	async function read(signal) {
		if (closed.signal.aborted) throw new SpockError('CLOSED', 'the backend was closed');
		try {
			const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]) });
			if (!response.ok) throw new Error(`it answered ${response.status}`);
			const services = await response.json();
			answeredAtMs = clock.now();
			Object.assign(health, { state: 'up', error: null });
			return services;
		} catch (cause) {
			if (signal.aborted) throw new SpockError('ABORTED', 'the caller aborted the call', { cause: signal.reason });
			Object.assign(health, { state: 'down', error: `${url} gives no services: ${cause.message}` });
			throw new SpockError('UNAVAILABLE', health.error, { cause });
		}
	}

	async function follow(query, observer, signal) {
		for (; !signal.aborted; await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined)) {
			const answer = await read(signal).catch((error) => error);
			if (signal.aborted) return; // Nothing is told after the end.
			if (answer instanceof SpockError) observer.failed(answer);
			else observer.answered(instancesOf(answer, query));
		}
	}

	return {
		name: health.name,
		watch(query, observer) {
			if (closed.signal.aborted) throw new SpockError('CLOSED', 'the backend was closed');
			const stopped = new AbortController();
			void follow(query, observer, AbortSignal.any([stopped.signal, closed.signal]));
			return { stop: () => stopped.abort() };
		},
		async list({ datacenter }, { signal = closed.signal } = {}) {
			const names = Object.keys(await read(signal)).sort();
			if (datacenter !== undefined) return [];
			return names.map((name) => ({ name, tags: [] }));
		},
		status: () => ({ ...health, lastSuccessAgeMs: answeredAtMs === null ? null : clock.now() - answeredAtMs }),
		close: async () => closed.abort(),
	};
}

/**
 * All instances of a service, healthy or not, sorted by name and frozen. There are no tags, datacenters, metadata or peers here, so
 * nothing meets a query with any condition, of those that there may be one day too.
 */
function instancesOf(services, { service, ...conditions }) {
	const found = Object.keys(conditions).length > 0 ? [] : (services[service] ?? []);
	const blank = { weight: 1, status: 'passing', tags: [], meta: {}, zone: null, datacenter: null };
	const instances = found.map((one) => Object.freeze({ ...blank, instance: `${one.host}:${one.port}`, ...one }));
	return Object.freeze(instances.sort((left, right) => (left.instance < right.instance ? -1 : 1)));
}

/** What `sidecar start --backend` calls. */
export default (context) => httpBackend(process.env.SERVICES_URL ?? 'http://127.0.0.1:8080/', context);
