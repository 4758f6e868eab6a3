import { element, setAttribute, setText } from './dom.js';
import { age, moment, whole } from './format.js';
import { ServiceDetail } from './service-detail.js';

const STATES = {
	fresh: ['live', 'good'],
	stale: ['last known', 'warn'],
	held: ['held back', 'warn'],
	cold: ['no answer', 'bad'],
};

let rowCount = 0;

/** One service: its row, and its instances below when it is expanded. */
export class ServiceRow {
	#service;
	#detail;
	#cells;
	#button;
	#row;
	#detailId = `detail-${++rowCount}`;
	#columns;
	isShown = false;

	constructor(columns) {
		this.#columns = columns;
		const number = (words = '') => element('td', { class: `number ${words}`.trim() });
		const name = element('span', { class: 'name' });
		const conditions = element('span', { class: 'with' });
		const found = element('span', { class: 'found quiet' });
		this.#button = element('button', { type: 'button', class: 'expander', 'aria-expanded': 'false' }, name, conditions);
		const fill = element('span');
		const meter = element('span', { class: 'meter', 'aria-hidden': 'true' }, fill);
		const healthy = element('span');
		this.#cells = {
			...{ name, conditions, found, fill, meter, healthy },
			state: element('td'),
			watchers: number('optional'),
			changed: number(),
			revision: number('optional'),
		};
		const { state, watchers, changed, revision } = this.#cells;
		const health = element('td', {}, element('span', { class: 'health' }, meter, healthy));
		const head = element('th', { scope: 'row' }, this.#button, found);
		this.#row = element('tr', { class: 'row service' }, head, health, state, watchers, changed, revision);
		this.#row.addEventListener('click', () => {
			// Who selects a text to copy it does not mean the row.
			if (getSelection().isCollapsed) this.#toggle();
		});
		this.body = element('tbody', {}, this.#row);
	}

	get isOpen() {
		return this.#detail !== undefined;
	}

	show(service) {
		if (service === this.#service) return;
		this.#service = service;
		const { name, conditions, found, fill, meter, healthy, state, watchers, revision } = this.#cells;
		setText(name, service.service);
		setText(conditions, service.label);
		setAttribute(this.#button, 'title', `${service.service} ${service.label}`.trim());
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
		setAttribute(state, 'class', word);
		setAttribute(state, 'title', service.error ?? '');
		setText(watchers, whole(service.readers));
		setText(revision, whole(service.revision));
		this.showAges(Date.now());
		this.#detail?.refresh(service);
	}

	showAges(nowMs) {
		const { changed, state } = this.#cells;
		const { changedAt, staleSince } = this.#service;
		setText(changed, changedAt === null ? '–' : age(nowMs - changedAt));
		setAttribute(changed, 'title', changedAt === null ? '' : moment(changedAt));
		if (staleSince !== null) setText(state, `${STATES[this.#service.state][0]}, ${age(nowMs - staleSince)}`);
		this.#detail?.showAges(nowMs);
	}

	#toggle() {
		if (this.isOpen) {
			this.#detail.node.remove();
			this.#detail = undefined;
			this.#button.removeAttribute('aria-controls');
		} else {
			this.#detail = new ServiceDetail(this.#detailId, this.#columns);
			this.body.append(this.#detail.node);
			this.#button.setAttribute('aria-controls', this.#detailId);
			this.#detail.refresh(this.#service);
		}
		this.#button.setAttribute('aria-expanded', String(this.isOpen));
		this.#row.classList.toggle('open', this.isOpen);
	}
}
