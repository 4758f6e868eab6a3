import { arrange, element, linkTo, MoreButton, scrollable, setText } from './dom.js';
import { age, clientName, HEALTH_WORDS, moment, plural, whole } from './format.js';

const STEP = 50;
const OVERSIZE = 'has an older answer: the newest is too long for it';

/** The instances of one service and who watches, asked for when the service is expanded and whenever it changes. */
export class ServiceDetail {
	#key;
	#asked = 0;
	#answer;
	#content;
	#instances = element('tbody');
	#more;
	#ages = [];

	constructor(id, columns) {
		this.#content = element('td', { colspan: String(columns) }, element('p', { class: 'quiet' }, 'Asking …'));
		this.node = element('tr', { id, class: 'detail' }, this.#content);
		const button = element('button', { type: 'button', class: 'more', hidden: '' });
		this.#more = new MoreButton(button, { step: STEP, noun: 'instances', changed: () => this.#showInstances() });
	}

	/** Asks again; an older answer that comes late is not shown. */
	async refresh({ key }) {
		this.#key = key;
		const asked = ++this.#asked;
		let answer;
		try {
			const response = await fetch(`service.json?key=${encodeURIComponent(this.#key)}`);
			answer = response.ok ? await response.json() : { error: `the sidecar says ${response.status}` };
		} catch {
			// The stream tells of the outage, and the next row that comes asks again.
			return;
		}
		if (asked !== this.#asked) return;
		this.#answer = answer;
		this.#show();
	}

	showAges(nowMs) {
		for (const { node, changedAt } of this.#ages) setText(node, age(nowMs - changedAt));
	}

	#show() {
		const { instances, watchers = [], watcherCount = 0, error, held, panic, frameBytes = 0 } = this.#answer;
		const notes = [
			...(error ? [error] : []),
			...(held ? ['The registry says that no instances are left. That is held back for a while.'] : []),
			...(panic ? ['So few instances are healthy that all of them are served.'] : []),
		].map((note) => element('p', { class: 'warn' }, note));
		if (instances === undefined) {
			this.#content.replaceChildren(...notes);
			return;
		}
		const names = ['Instance', 'Address', 'Health', 'Weight', 'Gets work', 'Age'];
		const head = names.map((name) =>
			element('th', { scope: 'col', class: name === 'Weight' || name === 'Age' ? 'number' : undefined }, name),
		);
		const caption = element('caption', { class: 'hidden' }, `Instances of ${this.#answer.service}`);
		const table = element('table', {}, caption, element('thead', {}, element('tr', {}, ...head)), this.#instances);
		const isEmpty = instances.length === 0;
		const list = isEmpty
			? element('p', { class: 'quiet' }, 'No instances.')
			: scrollable(element('div', { class: 'wide' }, table), 'Instances, scrollable');
		const size = frameBytes === 0 ? '' : `, ${whole(frameBytes)} bytes a push`;
		const title = `${watcherCount === 0 ? 'No watchers' : plural(watcherCount, 'watcher')}${size}`;
		const parts = [...notes, list, this.#more.button, element('h3', {}, title), watcherList(watchers, watcherCount)];
		const focused = document.activeElement;
		this.#content.replaceChildren(...parts);
		if (this.#content.contains(focused)) focused.focus({ preventScroll: true });
		this.#showInstances();
	}

	#showInstances() {
		this.#ages = [];
		arrange(
			this.#instances,
			this.#more.take(this.#answer.instances).map((instance) => this.#row(instance)),
		);
		this.showAges(Date.now());
	}

	#row({ instance, host, port, weight, status, included, reason, changedAt }) {
		const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
		const ageCell = element('td', { class: 'number', 'data-name': 'Age' }, '–');
		if (changedAt !== null) {
			ageCell.title = moment(changedAt);
			this.#ages.push({ node: ageCell, changedAt });
		}
		return element(
			'tr',
			{},
			element('th', { scope: 'row', class: 'mono' }, instance),
			element('td', { class: 'mono', 'data-name': 'Address' }, address),
			element('td', { class: HEALTH_WORDS[status] ?? '', 'data-name': 'Health' }, status),
			element('td', { class: 'number', 'data-name': 'Weight' }, whole(weight)),
			element(
				'td',
				{ class: included ? 'reason' : 'reason bad', 'data-name': 'Gets work' },
				included && status === 'passing' ? 'yes' : reasonText(included, reason),
			),
			ageCell,
		);
	}
}

function reasonText(included, reason) {
	return `${included ? 'yes' : 'no'}: ${reason}`;
}

function watcherList(watchers, count) {
	const items = watchers.map(({ connection, client, pid, pushed, oversize }) => {
		const name = clientName(client);
		const who = client === null ? name : element('a', { href: linkTo('clients', client) }, name);
		const rest = [
			...(pid === null ? [] : [`pid ${pid}`]),
			...(pushed
				? [`pushed ${whole(pushed.whole)} whole, ${plural(pushed.delta, 'delta')}, ${whole(pushed.parts)} in parts`]
				: []),
			...(oversize ? [OVERSIZE] : []),
		];
		return element('li', {}, `no. ${connection}, `, who, ...rest.map((text) => `, ${text}`));
	});
	if (count > watchers.length)
		items.push(element('li', { class: 'quiet' }, `and ${whole(count - watchers.length)} more`));
	return element('ul', { class: 'watchers' }, ...items);
}
