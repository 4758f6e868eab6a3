import { element, setAttribute, setText } from './dom.js';
import { Expander } from './expander.js';
import { age, moment, whole } from './format.js';
import { ServiceDetail } from './service-detail.js';

const STATES = {
	fresh: ['live', 'good'],
	stale: ['last known', 'quiet'],
	held: ['held back', 'warn'],
	cold: ['no answer', 'bad'],
};

let rowCount = 0;

/** One service: its row, and its instances below when it is expanded. */
export class ServiceRow {
	#service;
	#cells;
	#expander;
	isShown = false;

	constructor(columns) {
		const number = (name, words = '') => element('td', { class: `number ${words}`.trim(), 'data-name': name });
		const name = element('span', { class: 'name' });
		const conditions = element('span', { class: 'with' });
		const found = element('span', { class: 'found quiet' });
		this.#expander = new Expander(`detail-${++rowCount}`, [name, conditions], (id) => {
			const detail = new ServiceDetail(id, columns);
			void detail.refresh(this.#service);
			return detail;
		});
		const fill = element('span');
		const meter = element('span', { class: 'meter', 'aria-hidden': 'true' }, fill);
		const healthy = element('span');
		this.#cells = {
			...{ name, conditions, found, fill, meter, healthy },
			state: element('td', { 'data-name': 'State' }),
			watchers: number('Watchers', 'optional'),
			changed: number('Changed'),
			revision: number('Revision', 'optional'),
		};
		const { state, watchers, changed, revision } = this.#cells;
		const health = element('td', { 'data-name': 'Healthy' }, element('span', { class: 'health' }, meter, healthy));
		const head = element('th', { scope: 'row' }, this.#expander.button, found);
		this.#expander.attach(element('tr', { class: 'row service' }, head, health, state, watchers, changed, revision));
	}

	get body() {
		return this.#expander.body;
	}

	get isOpen() {
		return this.#expander.isOpen;
	}

	show(service) {
		if (service === this.#service) return;
		this.#service = service;
		const { name, conditions, found, fill, meter, healthy, state, watchers, revision } = this.#cells;
		setText(name, service.service);
		setText(conditions, service.label);
		setAttribute(this.#expander.button, 'title', `${service.service} ${service.label}`.trim());
		const { tags, zones, statuses } = service.found;
		setText(found, [...zones, ...tags].join(' '));
		const { healthy: good, instances } = service;
		const hasWarning = statuses.includes('warning');
		setText(healthy, `${whole(good)}/${whole(instances)}${hasWarning ? ' warning' : ''}`);
		setAttribute(healthy, 'class', good === 0 ? 'bad' : good < instances || hasWarning ? 'warn' : 'good');
		const share = good === instances && !hasWarning ? '' : good === 0 ? ' all-bad' : ' some';
		setAttribute(meter, 'class', `meter${share}`);
		fill.style.inlineSize = `${instances === 0 ? 0 : (good / instances) * 100}%`;
		const [text, word] = STATES[service.state] ?? [service.state, ''];
		setText(state, text);
		// In an outage of the registry every answer is the last known one: what fails alone must stand out.
		setAttribute(state, 'class', service.problem === 'failing' ? 'warn' : word);
		setAttribute(state, 'title', service.error ?? '');
		setText(watchers, whole(service.readers));
		setText(revision, whole(service.revision));
		this.showAges(Date.now());
		this.#expander.detail?.refresh(service);
	}

	showAges(nowMs) {
		const { changed, state } = this.#cells;
		const { changedAt, staleSince } = this.#service;
		setText(changed, changedAt === null ? '–' : age(nowMs - changedAt));
		setAttribute(changed, 'title', changedAt === null ? '' : moment(changedAt));
		if (staleSince !== null) setText(state, `${STATES[this.#service.state][0]}, ${age(nowMs - staleSince)}`);
		this.#expander.detail?.showAges(nowMs);
	}
}
