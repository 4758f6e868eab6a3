import type { ChangeView, ServiceView, StatusView } from '../../admin/status-view.ts';

/** Longest event that is kept, in characters. 10,000 services are about 4 million. */
const EVENT_CHARACTERS_MAX = 2 ** 26;
/** As many as the sidecar keeps. */
const CHANGES_MAX = 200;

/**
 * Reads the event stream of the admin server and keeps the view that its events make: the first events of a stream hold
 * everything, later ones what is new. One reader for each stream.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class StatusEvents {
	#text = '';
	#overview: StatusView['overview'] | undefined;
	#services: ReadonlyMap<string, ServiceView> | undefined;
	#connections: StatusView['connections'] | undefined;
	/** Null until they have come: only a sidecar that takes events tells them. */
	#events: StatusView['events'] = null;
	#registrations: StatusView['registrations'] = [];
	#keys: StatusView['keys'] = [];
	#changes: ReadonlyMap<number, ChangeView> | undefined;

	/** Takes a piece of the stream. Gives true if an event was in it; throws an Error for what is no event of a sidecar. */
	read(piece: string): boolean {
		const [last = '', ...events] = `${this.#text}${piece}`.split('\n\n').reverse();
		if (last.length > EVENT_CHARACTERS_MAX)
			throw new Error(`an event is longer than ${EVENT_CHARACTERS_MAX} characters`);
		this.#text = last;
		for (const event of events.reverse()) this.#take(event);
		return events.length > 0;
	}

	/** Undefined until every part has come. */
	get view(): StatusView | undefined {
		const [overview, services, connections, changes] = [
			this.#overview,
			this.#services,
			this.#connections,
			this.#changes,
		];
		if (overview === undefined || services === undefined) return undefined;
		if (connections === undefined || changes === undefined) return undefined;
		return {
			overview,
			services: [...services.values()],
			connections,
			events: this.#events,
			registrations: this.#registrations,
			keys: this.#keys,
			changes: [...changes.values()],
		};
	}

	#take(event: string): void {
		const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
		if (name === undefined || data === undefined) return;
		const value: unknown = JSON.parse(data);
		switch (name) {
			case 'overview':
				this.#overview = value as StatusView['overview'];
				break;
			case 'services':
				this.#services = withRows(this.#services, value as ServicesNews);
				break;
			case 'connections':
				this.#connections = value as StatusView['connections'];
				break;
			case 'events':
				this.#events = value as StatusView['events'];
				break;
			case 'registrations':
				this.#registrations = value as StatusView['registrations'];
				break;
			case 'keys':
				this.#keys = value as StatusView['keys'];
				break;
			case 'changes':
				this.#changes = withChanges(this.#changes, value as readonly ChangeView[]);
		}
	}
}

/** Rows that are new or different, and the keys of those that are gone. */
interface ServicesNews {
	readonly rows: readonly ServiceView[];
	readonly gone: readonly string[];
}

function withRows(before: ReadonlyMap<string, ServiceView> | undefined, { rows, gone }: ServicesNews) {
	const services = new Map(before);
	for (const row of rows) services.set(row.key, row);
	for (const key of gone) services.delete(key);
	return services;
}

/** A change that was added to comes again, as the newest. */
function withChanges(before: ReadonlyMap<number, ChangeView> | undefined, news: readonly ChangeView[]) {
	const changes = new Map(before);
	for (const change of news) {
		changes.delete(change.id);
		changes.set(change.id, change);
	}
	for (const id of changes.keys()) {
		if (changes.size <= CHANGES_MAX) break;
		changes.delete(id);
	}
	return changes;
}
