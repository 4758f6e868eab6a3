import { arrange, element, linkTo, MoreButton, setText } from './dom.js';
import { bytes, HEALTH_WORDS, moment, plural, whole } from './format.js';
import { serviceOf } from './services.js';

const STEP = 60;
/** Trouble first. */
const WORDS = ['bad', 'warn', 'good'];

function wordOf({ healthy, instances, state }) {
	if (healthy === 0 || state === 'cold') return 'bad';
	return healthy < instances || state !== 'fresh' ? 'warn' : 'good';
}

/** What one client does: its figures, what it has registered, and the services and keys that it watches, which are asked for. */
export class ClientDetail {
	/** The revision of the subscriptions that were asked for; undefined if that has failed. */
	#revision;
	#figures = element('p');
	#registered = element('ul', { class: 'watchers' });
	#registeredTitle = element('h3');
	#watchedTitle = element('h3');
	#watched = element('ul', { class: 'watchers' });
	/** The last answer. */
	#watches;
	#more;
	/** What is shown of each list, so that it is made again only when it says something else. */
	#shown = new Map();

	constructor(id, columns) {
		const button = element('button', { type: 'button', class: 'more', hidden: '' });
		this.#more = new MoreButton(button, {
			step: STEP,
			noun: 'subscriptions',
			changed: () => {
				this.#shown.delete(this.#watched);
				this.refresh();
			},
		});
		const parts = [this.#figures, this.#registeredTitle, this.#registered, this.#watchedTitle, this.#watched, button];
		this.node = element('tr', { id, class: 'detail' }, element('td', { colspan: String(columns) }, ...parts));
	}

	show(client) {
		const { rates, inFlight, outputBytes, requests, openedAt, registered, registeredCount } = client;
		const flow = rates === null ? [] : [`reads ${bytes(rates.bytesWritten)}/s`, `sends ${bytes(rates.bytesRead)}/s`];
		const since = `${plural(requests, 'call')} since ${moment(openedAt)}`;
		setText(this.#figures, [since, `${whole(inFlight)} in flight`, ...flow, `${bytes(outputBytes)} unread`].join(', '));
		setText(this.#registeredTitle, registeredCount === 0 ? 'It has registered nothing' : 'Registered');
		this.#fill(this.#registered, [registered, registeredCount], () => registeredItems(registered, registeredCount));
		if (client.subscriptionsRevision !== this.#revision) void this.#ask(client);
	}

	/** Shows the services that it watches as they are now. */
	refresh() {
		if (this.#watches === undefined) return;
		const { services, keys } = this.#watches;
		const isNone = services.length + keys.length === 0;
		const title = `Watches ${plural(services.length, 'service')}, ${plural(keys.length, 'key')}`;
		setText(this.#watchedTitle, isNone ? 'It watches nothing' : title);
		const now = services
			.map((one) => {
				const { key, service, label, healthy, instances, state } = serviceOf(one.key) ?? one;
				return {
					key,
					service,
					label,
					count: `${whole(healthy)}/${whole(instances)}`,
					word: wordOf({ healthy, instances, state }),
				};
			})
			.sort((left, right) => WORDS.indexOf(left.word) - WORDS.indexOf(right.word));
		this.#fill(this.#watched, [now, keys], () => this.#more.take([...now.map(serviceItem), ...keys.map(keyItem)]));
	}

	async #ask({ id, subscriptionsRevision: revision }) {
		this.#revision = revision;
		const watches = await read(`client.json?id=${id}`);
		// Another answer is awaited since.
		if (this.#revision !== revision) return;
		if (watches === undefined) {
			// With the next state of the client it is asked for again.
			this.#revision = undefined;
			return;
		}
		this.#watches = watches;
		this.refresh();
	}

	#fill(list, content, make) {
		const text = JSON.stringify(content);
		if (this.#shown.get(list) === text) return;
		this.#shown.set(list, text);
		arrange(list, make());
	}
}

/** Undefined if it cannot be read: the stream reports the outage. */
async function read(address) {
	try {
		const response = await fetch(address);
		return response.ok ? await response.json() : undefined;
	} catch {
		return undefined;
	}
}

function registeredItems(registered, count) {
	const items = registered.map(({ id, service, state, status }) => {
		const word = state === 'registered' ? (HEALTH_WORDS[status] ?? '') : 'warn';
		const said = state === 'registered' ? status : `${state}, ${status}`;
		return element('li', {}, `${service} ${id === service ? '' : id} `, element('span', { class: word }, said));
	});
	const rest = count - registered.length;
	return rest > 0 ? [...items, element('li', { class: 'quiet' }, `and ${whole(rest)} more`)] : items;
}

function serviceItem({ service, label, count, word }) {
	const name = element('a', { href: linkTo('services', service) }, `${service} ${label}`.trim());
	return element('li', {}, name, ' ', element('span', { class: word }, count));
}

function keyItem({ key, prefix }) {
	return element('li', {}, `key ${key}${prefix ? '…' : ''}`);
}
