'use strict';

// Two themes are styled; mdBook calls the dark one after the colour of its own.
document.getElementById('mdbook-theme-navy').textContent = 'Dark';

// A box that scrolls can be scrolled from the keyboard.
document.querySelectorAll('pre > code, .table-wrapper').forEach(box => {
    if (box.scrollWidth > box.clientWidth) {
        box.tabIndex = 0;
    }
});
