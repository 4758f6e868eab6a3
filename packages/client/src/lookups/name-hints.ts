import { type CallOptions, type ServiceList, type ServiceQuery, SpockError } from '@spock/protocol';
import { nearestName } from '@spock/protocol/internal';

/** Most services with a hint; past it errors of others have none. */
const HINTS_MAX = 100;
/** How long an error waits for the names, at most, in milliseconds: it is an error of an app that starts, or of a typing mistake. */
const WAIT_MS_MAX = 500;

type ListServices = (options: CallOptions & { readonly timeoutMs: number }) => Promise<ServiceList>;

/**
 * The name that was most likely meant by that of an unknown service. The names are asked for once for each such service, and its first
 * lookup alone waits for them: an app may look one up again and again that comes later.
 */
export class NameHints {
	readonly #list: ListServices;
	/** By service; undefined while the names are asked for, and where none is near. */
	readonly #hints = new Map<string, string | undefined>();

	constructor(list: ListServices) {
		this.#list = list;
	}

	/** The error, with the name in its message and its details if it is NO_SUCH_SERVICE and one is near. Never rejects. */
	async named(error: unknown, query: ServiceQuery, timeoutMs: number): Promise<unknown> {
		// What another datacenter or a peer knows is in no list of this one.
		if (!SpockError.is(error, 'NO_SUCH_SERVICE') || query.datacenter !== undefined || query.peer !== undefined)
			return error;
		const meant = await this.#meant(query.service, Math.min(WAIT_MS_MAX, timeoutMs));
		if (meant === undefined) return error;
		const { message, details, cause } = error;
		return new SpockError('NO_SUCH_SERVICE', `${message}; did you mean ${JSON.stringify(meant)}?`, {
			details: { ...details, didYouMean: meant },
			...(cause !== undefined && { cause }),
		});
	}

	async #meant(service: string, timeoutMs: number): Promise<string | undefined> {
		if (this.#hints.has(service) || this.#hints.size >= HINTS_MAX) return this.#hints.get(service);
		this.#hints.set(service, undefined);
		try {
			const names = (await this.#list({ timeoutMs })).services.map(({ name }) => name);
			// Or else it is known, but not with these tags, or since a moment.
			if (!names.includes(service)) this.#hints.set(service, nearestName(service, names));
		} catch {
			// The lookup's own error is the one that matters.
		}
		return this.#hints.get(service);
	}
}
