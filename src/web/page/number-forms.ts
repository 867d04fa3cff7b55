/**
 * A worker of the page: makes the first forms of numbers and times. The browser then loads its tables of languages, which takes a
 * slow phone 170 ms, and all threads of the page have them afterwards.
 */
new Intl.NumberFormat().format(1);
new Intl.DateTimeFormat().format(0);
close();
