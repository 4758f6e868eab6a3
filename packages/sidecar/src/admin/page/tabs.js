import { byId, setAttribute } from './dom.js';

const VIEWS = ['services', 'clients'];
const tabs = VIEWS.map((view) => byId(`${view}-tab`));

/** The view that is shown. */
export let view = VIEWS[0];

/** Shows one of the views; another name shows the first. */
export function showView(name) {
	view = VIEWS.includes(name) ? name : VIEWS[0];
	for (const [index, tab] of tabs.entries()) {
		const isShown = VIEWS[index] === view;
		setAttribute(tab, 'aria-selected', String(isShown));
		setAttribute(tab, 'tabindex', isShown ? '0' : '-1');
		byId(`${VIEWS[index]}-panel`).hidden = !isShown;
		byId(`${VIEWS[index]}-count`).hidden = !isShown;
	}
}

/** Calls `changed` whenever a person chooses a view. https://www.w3.org/WAI/ARIA/apg/patterns/tabs/ */
export function followTabs(changed) {
	const choose = (index) => {
		const at = (index + tabs.length) % tabs.length;
		showView(VIEWS[at]);
		tabs[at].focus();
		changed();
	};
	for (const [index, tab] of tabs.entries()) {
		tab.addEventListener('click', () => choose(index));
		tab.addEventListener('keydown', ({ key }) => {
			if (key === 'ArrowRight') choose(index + 1);
			if (key === 'ArrowLeft') choose(index - 1);
		});
	}
}
