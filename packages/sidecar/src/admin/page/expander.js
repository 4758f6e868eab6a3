import { element } from './dom.js';

/** The button of a row, and the detail below that row while it is open. A click anywhere in the row opens and closes it too. */
export class Expander {
	/** The detail of an open row. */
	detail;
	body;
	#row;
	#id;
	#create;

	/** `id` is of the detail, which `create` makes and fills; its `node` goes below the row. */
	constructor(id, labels, create) {
		this.#id = id;
		this.#create = create;
		this.button = element('button', { type: 'button', class: 'expander', 'aria-expanded': 'false' }, ...labels);
	}

	/** The row that holds the button. */
	attach(row) {
		this.#row = row;
		row.addEventListener('click', () => {
			// A text that is selected to be copied does not mean the row.
			if (getSelection().isCollapsed) this.#toggle();
		});
		this.body = element('tbody', {}, row);
	}

	get isOpen() {
		return this.detail !== undefined;
	}

	#toggle() {
		if (this.isOpen) {
			this.detail.node.remove();
			this.detail = undefined;
			this.button.removeAttribute('aria-controls');
		} else {
			this.detail = this.#create(this.#id);
			this.body.append(this.detail.node);
			this.button.setAttribute('aria-controls', this.#id);
		}
		this.button.setAttribute('aria-expanded', String(this.isOpen));
		this.#row.classList.toggle('open', this.isOpen);
	}
}
