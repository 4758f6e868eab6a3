import { arrange, element, MoreButton, setText } from './dom.js';
import { bytes, HEALTH_WORDS, moment, plural, whole } from './format.js';

const STEP = 60;
const WORDS = ['bad', 'warn', 'good'];

function wordOf({ healthy, instances, state }) {
	if (healthy === 0 || state === 'cold') return 'bad';
	return healthy < instances || state !== 'fresh' ? 'warn' : 'good';
}

/** What one client does: its figures, what it has registered, and the services and keys that it watches, which are asked for. */
export class ClientDetail {
	#subscriptions;
	#figures = element('p');
	#registered = element('ul', { class: 'watchers' });
	#registeredTitle = element('h3');
	#watchedTitle = element('h3');
	#watched = element('ul', { class: 'watchers' });
	#told = { services: [], keys: [] };
	#more;

	constructor(id, columns) {
		const button = element('button', { type: 'button', class: 'more', hidden: '' });
		this.#more = new MoreButton(button, { step: STEP, noun: 'subscriptions', changed: () => this.#showWatched() });
		const parts = [this.#figures, this.#registeredTitle, this.#registered, this.#watchedTitle, this.#watched, button];
		this.node = element('tr', { id, class: 'detail' }, element('td', { colspan: String(columns) }, ...parts));
	}

	show(client) {
		const { rates, inFlight, outputBytes, requests, openedAt, registered, registeredCount } = client;
		const flow = rates === null ? [] : [`reads ${bytes(rates.bytesWritten)}/s`, `sends ${bytes(rates.bytesRead)}/s`];
		const since = `${plural(requests, 'call')} since ${moment(openedAt)}`;
		setText(this.#figures, [since, `${whole(inFlight)} in flight`, ...flow, `${bytes(outputBytes)} unread`].join(', '));
		setText(this.#registeredTitle, registeredCount === 0 ? 'It has registered nothing' : 'Registered');
		const items = registered.map(({ id, service, state, status }) => {
			const word = state === 'registered' ? (HEALTH_WORDS[status] ?? '') : 'warn';
			const said = state === 'registered' ? status : `${state}, ${status}`;
			return element('li', {}, `${service} ${id === service ? '' : id} `, element('span', { class: word }, said));
		});
		const rest = registeredCount - registered.length;
		if (rest > 0) items.push(element('li', { class: 'quiet' }, `and ${whole(rest)} more`));
		this.#registered.replaceChildren(...items);
		if (client.subscriptions !== this.#subscriptions) void this.#ask(client);
	}

	async #ask({ id, subscriptions }) {
		this.#subscriptions = subscriptions;
		let told;
		try {
			const response = await fetch(`client.json?id=${id}`);
			if (!response.ok) return;
			told = await response.json();
		} catch {
			// The stream reports the outage.
			return;
		}
		if (this.#subscriptions !== subscriptions) return;
		this.#told = told;
		this.#showWatched();
	}

	#showWatched() {
		const { services, keys } = this.#told;
		const isNone = services.length + keys.length === 0;
		setText(
			this.#watchedTitle,
			isNone ? 'It watches nothing' : `Watches ${plural(services.length, 'service')}, ${plural(keys.length, 'key')}`,
		);
		// Trouble first.
		const sorted = services
			.map((service) => ({ ...service, word: wordOf(service) }))
			.sort((left, right) => WORDS.indexOf(left.word) - WORDS.indexOf(right.word));
		const nodes = [
			...sorted.map(({ service, label, instances, healthy, word }) => {
				const name = `${service} ${label}`.trim();
				return element('li', {}, `${name} `, element('span', { class: word }, `${whole(healthy)}/${whole(instances)}`));
			}),
			...keys.map(({ key, prefix }) => element('li', {}, `key ${key}${prefix ? '…' : ''}`)),
		];
		arrange(this.#watched, this.#more.take(nodes));
	}
}
